{{- define "hyperfleet-adapter.configMap" -}}
{{- if .Values.adapterConfig.create }}{{ include "common.fullname" . }}-config{{ else }}{{ required "adapterConfig.configMapName is required with adapterConfig.create=false" .Values.adapterConfig.configMapName }}{{ end }}
{{- end }}

{{- define "hyperfleet-adapter.taskConfigMap" -}}
{{- if .Values.adapterTaskConfig.create }}{{ include "common.fullname" . }}-task{{ else }}{{ required "adapterTaskConfig.configMapName is required with adapterTaskConfig.create=false" .Values.adapterTaskConfig.configMapName }}{{ end }}
{{- end }}

{{- define "hyperfleet-adapter.brokerConfigMap" -}}
{{- if .Values.broker.create }}{{ include "common.fullname" . }}-broker{{ else }}{{ required "broker.configMapName is required with broker.create=false" .Values.broker.configMapName }}{{ end }}
{{- end }}

{{/* Text as it is, and anything else as YAML. */}}
{{- define "hyperfleet-adapter.text" -}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* The entries of a ConfigMap from `yaml` under the key `name`, or from files of the chart. Takes `root`, `values`, `key`, `name`. */}}
{{- define "hyperfleet-adapter.files" -}}
{{- $root := .root }}
{{- $external := .values.external | default dict }}
{{- if and .values.yaml (or .values.files $external) }}
{{- fail (printf "%s.yaml excludes %s.files and %s.external: give the text or the files" .key .key .key) }}
{{- end }}
{{- if .values.yaml }}
{{ .name }}: |
  {{- include "hyperfleet-adapter.text" .values.yaml | nindent 2 }}
{{- else if not (or .values.files $external) }}
{{- fail (printf "%s.yaml is required: write the file %s there, such as --set-file %s.yaml=%s" .key .name .key .name) }}
{{- end }}
{{- range $name, $path := .values.files }}
{{- if hasKey $external $name }}
{{- fail (printf "%s: both files and external have %s" $.key $name) }}
{{- end }}
{{ $name }}: |
  {{- required (printf "%s.files: the chart has no file %s" $.key $path) ($root.Files.Get $path) | nindent 2 }}
{{- end }}
{{- range $name, $text := $external }}
{{ $name }}: |
  {{- include "hyperfleet-adapter.text" $text | nindent 2 }}
{{- end }}
{{- end }}

{{/* Refuses values that would be ignored. */}}
{{- define "hyperfleet-adapter.validate" -}}
{{- $broker := .Values.broker }}
{{- if not (has $broker.type (list "rabbitmq" "googlepubsub")) }}
{{- fail "broker.type is required: rabbitmq or googlepubsub" }}
{{- end }}
{{- if eq $broker.type "googlepubsub" }}
{{- if and $broker.create (not $broker.yaml) }}
{{- range list "projectId" "topic" "subscriptionId" }}
{{- if not (get $broker.googlepubsub .) }}
{{- fail (printf "broker.googlepubsub.%s is required" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- else if and $broker.create (not $broker.yaml) }}
{{- if not $broker.rabbitmq.exchange }}
{{- fail "broker.rabbitmq.exchange is required: the exchange to which the Sentinel sends" }}
{{- end }}
{{- if eq (empty $broker.rabbitmq.url) (empty $broker.rabbitmq.urlSecret.name) }}
{{- fail "set one of broker.rabbitmq.urlSecret.name, a Secret with the URL, and broker.rabbitmq.url" }}
{{- end }}
{{- end }}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) }}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas" }}
{{- end }}
{{- end }}

{{/* The Secret with the broker's URL: yours, or one with the URL of the values. */}}
{{- define "hyperfleet-adapter.urlSecret" -}}
{{- default (printf "%s-broker" (include "common.fullname" .)) .Values.broker.rabbitmq.urlSecret.name }}
{{- end }}

{{/* What the program and `helm test` mount. */}}
{{- define "hyperfleet-adapter.mounts" -}}
- name: config
  mountPath: /etc/adapter
  readOnly: true
- name: broker
  mountPath: /etc/broker
  readOnly: true
{{- if .Values.signingKey.enabled }}
- name: signing-key
  mountPath: /etc/hyperfleet/signing
  readOnly: true
{{- end }}
{{- end }}

{{- define "hyperfleet-adapter.volumes" -}}
- name: config
  projected:
    sources:
      - configMap:
          name: {{ include "hyperfleet-adapter.configMap" . }}
      - configMap:
          name: {{ include "hyperfleet-adapter.taskConfigMap" . }}
      - configMap:
          name: {{ include "hyperfleet-adapter.brokerConfigMap" . }}
- name: broker
  configMap:
    name: {{ include "hyperfleet-adapter.brokerConfigMap" . }}
{{- if .Values.signingKey.enabled }}
- name: signing-key
  {{- if .Values.signingKey.volume }}
  {{- toYaml .Values.signingKey.volume | nindent 2 }}
  {{- else }}
  secret:
    secretName: {{ required "signingKey.secretName is required, or signingKey.volume" .Values.signingKey.secretName }}
    defaultMode: 0440
  {{- end }}
{{- end }}
{{- end }}
