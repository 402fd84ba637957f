{{/* Names and labels. */}}

{{- define "pinotadmin.name" -}}
{{- if contains "pinotadmin" .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-pinotadmin" (.Release.Name | trunc 29 | trimSuffix "-") }}
{{- end -}}
{{- end -}}

{{/* Of {root, role}. */}}
{{- define "pinotadmin.selector" -}}
app.kubernetes.io/name: pinotadmin
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "pinotadmin.labels" -}}
{{ include "pinotadmin.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | quote }}
{{- end -}}

{{- define "pinotadmin.image" -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end -}}

{{- define "pinotadmin.dataClaim" -}}
{{ .Values.sharedData.existingClaim | default (printf "%s-data" (include "pinotadmin.name" .)) }}
{{- end -}}

{{/* Of {root, role}: the service that gives each pod of a set its name. */}}
{{- define "pinotadmin.pods" -}}
{{ printf "%s-%s-pods" (include "pinotadmin.name" .root) .role }}
{{- end -}}
