{{/* The configuration file: `config`, and what other values say. */}}
{{- define "hyperfleet-reconcile-metrics.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if (default dict $config.database).password_file }}
{{- fail "config.database.password_file is set by the chart: name the Secret in database.existingSecret" }}
{{- end }}
{{- $_ := set $config "health" (dict "listen" (printf ":%v" .Values.ports.health)) }}
{{- $_ := set $config "metrics" (merge (dict "listen" (printf ":%v" .Values.ports.metrics)) (default dict $config.metrics)) }}
{{- $_ := set $config "database" (merge (dict "password_file" "/etc/hyperfleet/database/password") (default dict $config.database)) }}
{{- if .Values.stuck.existingSecret }}
{{- $_ := set $config "stuck" (merge (dict "token_file" "/etc/hyperfleet/stuck/token") (default dict $config.stuck)) }}
{{- end }}
{{- if .Values.apiConfigMap.name }}
{{- $_ := set $config "api_config_file" (printf "/etc/hyperfleet/api/%s" .Values.apiConfigMap.key) }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/* What the program, `helm test` and the Job mount. Takes `root`. */}}
{{- define "hyperfleet-reconcile-metrics.mounts" -}}
- name: config
  mountPath: /etc/hyperfleet/exporter.yaml
  subPath: exporter.yaml
  readOnly: true
- name: database
  mountPath: /etc/hyperfleet/database
  readOnly: true
{{- if .root.Values.apiConfigMap.name }}
- name: api
  mountPath: /etc/hyperfleet/api
  readOnly: true
{{- end }}
{{- end }}

{{/* Takes `root`, and `secret`: the values of the Secret with a password, which are below `key`. */}}
{{- define "hyperfleet-reconcile-metrics.volumes" -}}
- name: config
  configMap:
    name: {{ include "common.fullname" .root }}
- name: database
  {{- if .secret.volume }}
  {{- toYaml .secret.volume | nindent 2 }}
  {{- else }}
  secret:
    secretName: {{ required (printf "%s is required: a Secret with the password of the database's role" .key) .secret.existingSecret }}
    items:
      - key: {{ .secret.key }}
        path: password
    defaultMode: 0440
  {{- end }}
{{- with .root.Values.apiConfigMap.name }}
- name: api
  configMap:
    name: {{ . }}
{{- end }}
{{- end }}
