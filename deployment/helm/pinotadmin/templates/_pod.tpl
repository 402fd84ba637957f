{{/* The pod of a part, of {root, role, args, probes as a text, port if it has one}: rights, folders and settings. */}}

{{- define "pinotadmin.restricted" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "pinotadmin.container" -}}
image: {{ include "pinotadmin.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* Web processes and servers are registered in ZooKeeper by a name that outlives their pods, others by no name. */}}
{{- define "pinotadmin.host" -}}
{{- if has .role (list "web" "server") -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: PINOTADMIN_HOST
  value: {{ printf "$(POD_NAME).%s.%s.svc.%s" (include "pinotadmin.pods" .) .root.Release.Namespace .root.Values.clusterDomain | quote }}
{{- if .root.Values.tls.existingSecret }}
- {name: PINOTADMIN_TLS_CERTIFICATE, value: /etc/pinotadmin/tls/tls.crt}
- {name: PINOTADMIN_TLS_KEY, value: /etc/pinotadmin/tls/tls.key}
{{- end }}
{{- else -}}
- name: PINOTADMIN_HOST
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- end -}}
{{- end -}}

{{/* Of {root, role}: who is called shows the certificate, everybody checks those of others. Replaced files are read again,
so they are mounted as a folder. */}}
{{- define "pinotadmin.tlsVolume" -}}
{{- with .root.Values.tls.existingSecret -}}
- name: tls
  secret:
    secretName: {{ . }}
    defaultMode: 0440
    {{- if not (has $.role (list "web" "server")) }}
    items: [{key: ca.crt, path: ca.crt}]
    {{- end }}
{{- end -}}
{{- end -}}

{{- define "pinotadmin.tlsMount" -}}
{{- if .Values.tls.existingSecret -}}
- {name: tls, mountPath: /etc/pinotadmin/tls, readOnly: true}
{{- end -}}
{{- end -}}

{{/* A file in DATA_DIR/run that each process without a port touches every two seconds. */}}
{{- define "pinotadmin.fileProbes" -}}
startupProbe:
  exec: &running
    command:
      - sh
      - -c
      - >-
        cd /var/lib/pinotadmin/run &&
        test "$(find{{ range .files }} {{ . }}.ready{{ end }} -mmin -1 | wc -l)" = {{ len .files }}
  periodSeconds: 5
  timeoutSeconds: 5
  # A mirror is there when its first copy is.
  failureThreshold: 180
livenessProbe:
  exec: *running
  periodSeconds: 30
  timeoutSeconds: 10
  failureThreshold: 4
{{- end -}}

{{- define "pinotadmin.httpProbes" -}}
{{- $scheme := ternary "HTTPS" "HTTP" (not (empty .Values.tls.existingSecret)) -}}
startupProbe:
  httpGet: {path: /health/liveness, port: http, scheme: {{ $scheme }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /health/liveness, port: http, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /health/readiness, port: http, scheme: {{ $scheme }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
{{- end -}}

{{- define "pinotadmin.pod" -}}
{{- $values := .root.Values -}}
{{- $own := index $values .role -}}
metadata:
  labels:
    {{- include "pinotadmin.selector" . | nindent 4 }}
  annotations:
    checksum/settings: {{ include "pinotadmin.settings" .root | sha256sum }}
    {{- with $own.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  # Kubernetes would name services in variables such as PINOTADMIN_WEB_PORT, which look like settings.
  enableServiceLinks: false
  # No part calls Kubernetes, but a worker whose Spark does.
  automountServiceAccountToken: {{ $own.automountToken | default false }}
  {{- with $own.serviceAccountName }}
  serviceAccountName: {{ . }}
  {{- end }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: 60
  securityContext:
    {{- include "pinotadmin.restricted" . | nindent 4 }}
  containers:
    - name: {{ .role }}
      {{- include "pinotadmin.container" .root | nindent 6 }}
      args: {{ .args | toJson }}
      env:
        {{- include "pinotadmin.host" . | nindent 8 }}
      envFrom:
        - configMapRef: {name: {{ include "pinotadmin.name" .root }}-settings}
        - secretRef: {name: {{ required "existingSecret names the Secret with the settings that are secrets." $values.existingSecret }}}
      {{- with .port }}
      ports:
        - {name: http, containerPort: {{ . }}}
      {{- end }}
      {{- .probes | nindent 6 }}
      {{- if eq .role "web" }}
      # Meanwhile everybody learns that it goes.
      lifecycle: {preStop: {exec: {command: [sleep, "5"]}}}
      {{- end }}
      resources:
        {{- toYaml $own.resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /var/lib/pinotadmin}
        # Of this pod alone, on whatever volume the folder around it is.
        - {name: run, mountPath: /var/lib/pinotadmin/run}
        - {name: tmp, mountPath: /tmp}
        {{- include "pinotadmin.tlsMount" .root | nindent 8 }}
        {{- with $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- if eq .role "server" }}
    {{- else if and $values.sharedData.enabled (ne .role "beat") }}
    - name: data
      persistentVolumeClaim: {claimName: {{ include "pinotadmin.dataClaim" .root }}}
    {{- else }}
    - {name: data, emptyDir: {}}
    {{- end }}
    - {name: run, emptyDir: {}}
    - {name: tmp, emptyDir: {}}
    {{- include "pinotadmin.tlsVolume" . | nindent 4 }}
    {{- with $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "pinotadmin.selector" . | nindent 10 }}
  {{- with $own.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
