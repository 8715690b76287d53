{{- define "gateway.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "gateway.secret" -}}
{{- .Values.existingSecret | default (include "gateway.name" .) -}}
{{- end -}}

{{- define "gateway.hasSecret" -}}
{{- if or .Values.existingSecret .Values.secrets }}yes{{ end -}}
{{- end -}}

{{- /* Whether a pod needs DATABASE_URL: its own folder is lost with it, or not that of the others. */}}
{{- define "gateway.needsDatabase" -}}
{{- $isAlone := and (eq (int .Values.replicas) 1) (not .Values.autoscaling.enabled) -}}
{{- if not (and $isAlone .Values.persistence.enabled) }}yes{{ end -}}
{{- end -}}

{{- define "gateway.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
env:
  - name: CONFIG_FILE
    value: /etc/model-access-gateway/gateway.yaml
  {{- if and .Values.existingSecret (include "gateway.needsDatabase" .) (not (get .Values.environment "DATABASE_URL")) }}
  # If the Secret lacks it, no pod starts; otherwise each pod would create its own store.
  - name: DATABASE_URL
    valueFrom:
      secretKeyRef:
        name: {{ .Values.existingSecret }}
        key: DATABASE_URL
  {{- end }}
  {{- range $name, $value := .Values.environment }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
{{- if include "gateway.hasSecret" . }}
envFrom:
  - secretRef:
      name: {{ include "gateway.secret" . }}
{{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - name: data
    mountPath: /data
  - name: cache
    mountPath: /var/cache/gateway
  - name: config
    mountPath: /etc/model-access-gateway
    readOnly: true
{{- end -}}
