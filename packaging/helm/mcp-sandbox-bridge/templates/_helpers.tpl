{{- define "bridge.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "bridge.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bridge.labels" -}}
{{ include "bridge.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "bridge.sandboxes" -}}
{{- default .Release.Namespace .Values.sandboxes.namespace -}}
{{- end }}

{{- define "bridge.tokens" -}}
{{- if and .Values.tokens.secret .Values.tokens.file -}}
{{- fail "tokens.secret and tokens.file are both set: leave one of them empty" -}}
{{- else if .Values.tokens.secret -}}
{{- .Values.tokens.secret -}}
{{- else if .Values.tokens.file -}}
{{- printf "%s-tokens" (include "bridge.name" .) -}}
{{- else if not (hasKey .Values.settings "MCP_BRIDGE_HTTP_OAUTH_ISSUER") -}}
{{- fail "nobody could call the bridge: set tokens.secret, tokens.file, or settings.MCP_BRIDGE_HTTP_OAUTH_ISSUER" -}}
{{- end -}}
{{- end }}

{{- define "bridge.serviceHosts" -}}
{{- $name := include "bridge.name" . -}}
{{- $own := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) -}}
{{- concat $own .Values.hosts | join "," -}}
{{- end }}

{{- /* What the Restricted standard asks for, and a read-only root. */ -}}
{{- define "bridge.walls" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "bridge.replicaKey" -}}
{{- default (printf "%s-replicas" (include "bridge.name" .)) .Values.replicaKey.secret -}}
{{- end }}

{{- define "bridge.isReplicated" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}yes{{ end -}}
{{- end }}
