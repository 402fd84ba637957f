{{/* The settings that all parts share, as a mapping: what values.yaml has, and what follows from the rest of it. */}}

{{- define "pinotadmin.settings" -}}
{{- $name := include "pinotadmin.name" . -}}
{{- $given := .Values.settings -}}
{{- range $secret := list
    "PINOTADMIN_CLUSTER_SECRET" "PINOTADMIN_SECRET_KEY" "PINOTADMIN_ADMIN_PASSWORD" "ZOOKEEPER_AUTH" "REDIS_URL" "DATABASE_URL"
    "DEEP_STORE_SECRET_KEY" "PINOTADMIN_MAIL_PASSWORD" "PINOTADMIN_OIDC_CLIENT_SECRET"
    "OTEL_EXPORTER_OTLP_HEADERS" -}}
{{- if hasKey $given $secret -}}
{{- fail (printf "settings.%s is a secret: make it a key of the Secret that existingSecret names." $secret) -}}
{{- end -}}
{{- end -}}
{{- range $ours := list
    "PINOTADMIN_HOST" "PINOTADMIN_PORT" "PINOTADMIN_BIND_HOST" "PINOTADMIN_DATA_DIR" "PINOTADMIN_CONFIG" -}}
{{- if hasKey $given $ours -}}
{{- fail (printf "settings.%s is set by the chart." $ours) -}}
{{- end -}}
{{- end -}}
{{- if .Values.tls.existingSecret -}}
{{- range $ours := list "PINOTADMIN_TLS_CA" "PINOTADMIN_TLS_CERTIFICATE" "PINOTADMIN_TLS_KEY" -}}
{{- if hasKey $given $ours -}}
{{- fail (printf "settings.%s is set by the chart, from tls.existingSecret." $ours) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := required "settings.ZOOKEEPER_URL names the ZooKeeper that all parts share." $given.ZOOKEEPER_URL -}}
{{- $_ := required "settings.DEEP_STORE_URL names the store of segments that all parts share." $given.DEEP_STORE_URL -}}
{{- $service := printf "%s-web.%s.svc" $name .Release.Namespace -}}
{{- $hosts := list
    (printf "%s-web" $name) (printf "%s-web.%s" $name .Release.Namespace)
    $service (printf "%s.%s" $service .Values.clusterDomain) -}}
{{- $made := dict
    "PINOTADMIN_BIND_HOST" "0.0.0.0" "PINOTADMIN_PORT" "9000"
    "PINOTADMIN_DATA_DIR" "/var/lib/pinotadmin" "PINOTADMIN_LOG_FORMAT" "json" -}}
{{- if .Values.tls.existingSecret -}}
{{- $made = merge $made (dict "PINOTADMIN_TLS_CA" "/etc/pinotadmin/tls/ca.crt" "PINOTADMIN_SECURE_COOKIES" "true") -}}
{{- end -}}
{{- if .Values.ingress.enabled -}}
{{- $hosts = append $hosts (required "ingress.host is the name by which people reach the console." .Values.ingress.host) -}}
{{- if .Values.ingress.tlsSecret -}}
{{- $made = merge $made (dict
    "PINOTADMIN_SECURE_COOKIES" "true" "PINOTADMIN_TRUSTED_ORIGINS" (printf "https://%s" .Values.ingress.host)) -}}
{{- end -}}
{{- end -}}
{{- $more := get $given "PINOTADMIN_ALLOWED_HOSTS" -}}
{{- if $more }}{{ $hosts = append $hosts $more }}{{ end -}}
{{- $allowed := dict "PINOTADMIN_ALLOWED_HOSTS" (join "," $hosts) -}}
{{- toYaml (merge $allowed $given $made) -}}
{{- end -}}
