{{/* Names. A release that is called after the chart is not named twice. */}}
{{- define "callboard.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "callboard.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: callboard
{{ include "callboard.selector" . }}
{{- end }}

{{/* What pods are found by; must never change. */}}
{{- define "callboard.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "callboard.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The roles that are on, in a fixed order, as {"names": […]}. */}}
{{- define "callboard.roles" -}}
{{- $names := list -}}
{{- range $name := list "supervisor" "planner" "executor" "tools" "interaction" "door" "gateway" -}}
{{- if (index $.Values.roles $name).enabled -}}{{- $names = append $names $name -}}{{- end -}}
{{- end -}}
{{- dict "names" $names | toJson -}}
{{- end }}

{{/* Whether a role talks to the model: "true" or nothing. */}}
{{- define "callboard.needsModel" -}}
{{- if has . (list "planner" "executor" "tools") -}}true{{- end -}}
{{- end }}

{{/* What every process is told about the broker. Called with root and the user's name. */}}
{{- define "callboard.natsEnv" -}}
{{- $nats := .root.Values.nats -}}
- name: CALLBOARD__NATS__URL
  value: {{ $nats.url | quote }}
- name: CALLBOARD__NATS__PREFIX
  value: {{ $nats.prefix | quote }}
- name: CALLBOARD__NATS__SHARDS
  value: {{ $nats.shards | int | quote }}
- name: CALLBOARD__NATS__REPLICAS
  value: {{ $nats.replicas | int | quote }}
- name: CALLBOARD__NATS__TLS__REQUIRED
  value: {{ $nats.tls.required | quote }}
{{- if $nats.tls.caSecret.name }}
- name: CALLBOARD__NATS__TLS__CA_FILE
  value: /run/callboard/ca/{{ $nats.tls.caSecret.key }}
{{- end }}
{{- if $nats.nkeys.secret }}
- name: CALLBOARD__NATS__NKEY__FILE
  value: /run/callboard/nkey/{{ .user }}.nk
- name: CALLBOARD__NATS__INBOX_PREFIX
  value: _INBOX_{{ .user }}
{{- end }}
{{- end }}

{{/* Where the keys are mounted. Called with root. */}}
{{- define "callboard.mounts" -}}
- name: config
  mountPath: /etc/callboard
  readOnly: true
{{- if .root.Values.nats.tls.caSecret.name }}
- name: ca
  mountPath: /run/callboard/ca
  readOnly: true
{{- end }}
{{- if .root.Values.nats.nkeys.secret }}
- name: nkey
  mountPath: /run/callboard/nkey
  readOnly: true
{{- end }}
{{- end }}

{{/* The volumes. Called with root, the user, the secret of its nkey and the ConfigMap. */}}
{{- define "callboard.volumes" -}}
- name: config
  configMap:
    name: {{ .config }}
{{- with .root.Values.nats.tls.caSecret }}
{{- if .name }}
- name: ca
  secret:
    secretName: {{ .name }}
    defaultMode: 288 # 0440, which not every reader of YAML takes for octal
    items: [{ key: {{ .key | quote }}, path: {{ .key | quote }} }]
{{- end }}
{{- end }}
{{- if .root.Values.nats.nkeys.secret }}
- name: nkey
  secret:
    secretName: {{ .secret }}
    defaultMode: 288 # 0440, which not every reader of YAML takes for octal
    items: [{ key: {{ .user }}.nk, path: {{ .user }}.nk }]
{{- end }}
{{- end }}

{{- define "callboard.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "callboard.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
privileged: false
capabilities: { drop: [ALL] }
{{- end }}

{{/* The signal for one role: the consumers of its pool, as {"consumers": […], "kinds": […], "pool": …}. */}}
{{- define "callboard.queues" -}}
{{- $queues := dict
  "planner" (dict "kinds" (list "plan") "pool" "default")
  "executor" (dict "kinds" (list "turn") "pool" "default")
  "tools" (dict "kinds" (list "call") "pool" "builtin")
  "interaction" (dict "kinds" (list "ask" "note") "pool" "people") -}}
{{- index $queues . | toJson -}}
{{- end }}
