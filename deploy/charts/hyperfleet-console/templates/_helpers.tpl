{{/* Refuses a console that nobody could read, or everybody. */}}
{{- define "hyperfleet-console.validate" -}}
{{- $access := default dict .Values.config.access }}
{{- range $key, $cure := dict
  "listen" "set ports.pages; with access.sidecarPort the console listens on 127.0.0.1"
  "exporter" "set exporter.url and exporter.existingSecret"
  "adapters" "set adapters"
  "sweeper" "set sweeper.url and sweeper.existingSecret"
}}
{{- if hasKey $.Values.config $key }}
{{- fail (printf "config.%s is set by the chart: %s" $key $cure) }}
{{- end }}
{{- end }}
{{- if $access.token_file }}
{{- fail "config.access.token_file is set by the chart: name the Secret in access.existingSecret" }}
{{- end }}
{{- if .Values.access.sidecarPort }}
{{- if not .Values.sidecarContainers }}
{{- fail "access.sidecarPort needs the proxy in sidecarContainers" }}
{{- end }}
{{- if not (or $access.user_header .Values.access.existingSecret) }}
{{- fail "access.sidecarPort needs config.access.user_header, the header in which the proxy names readers; without it the console lets none of them in" }}
{{- end }}
{{- else }}
{{- if and $access.user_header (not $access.proxies) }}
{{- fail "config.access.user_header counts on connections from a proxy alone: set access.sidecarPort, for one in sidecarContainers, or list its addresses in config.access.proxies" }}
{{- end }}
{{- if not (or .Values.access.existingSecret $access.user_header) }}
{{- fail "access.existingSecret is required: a Secret with the token that readers give. Or let a proxy authenticate them: set access.sidecarPort, for one in sidecarContainers, or config.access.user_header and config.access.proxies" }}
{{- end }}
{{- end }}
{{- if and .Values.api.existingSecret .Values.api.auth.enabled }}
{{- fail "set one of api.existingSecret and api.auth.enabled" }}
{{- end }}
{{- end }}

{{/* A source of the configuration file. Takes `root`, `values` and `token`, the name of the token's file. */}}
{{- define "hyperfleet-console.source" -}}
url: {{ tpl .values.url .root | quote }}
{{- if .values.existingSecret }}
token_file: /etc/hyperfleet/tokens/{{ .token }}
{{- end }}
{{- end }}

{{/* The configuration file: `config`, and what other values say. */}}
{{- define "hyperfleet-console.config" -}}
{{- include "hyperfleet-console.validate" . }}
{{- $config := deepCopy .Values.config }}
{{- $host := ternary "127.0.0.1" "" (not (empty .Values.access.sidecarPort)) }}
{{- $_ := set $config "listen" (printf "%s:%v" $host .Values.ports.pages) }}
{{- $_ := set $config "health" (dict "listen" (printf ":%v" .Values.ports.health)) }}
{{- $_ := set $config "metrics" (dict "listen" (printf ":%v" .Values.ports.metrics)) }}
{{- if .Values.access.existingSecret }}
{{- $_ := set $config "access" (merge (dict "token_file" "/etc/hyperfleet/tokens/access") (default dict $config.access)) }}
{{- end }}
{{- if or .Values.api.existingSecret .Values.api.auth.enabled }}
{{- $_ := set $config "api" (merge (dict "token_file" "/etc/hyperfleet/tokens/api") (default dict $config.api) (dict "auth_scheme" .Values.api.auth.scheme)) }}
{{- end }}
{{- range $name, $values := dict "exporter" .Values.exporter "sweeper" .Values.sweeper }}
{{- if $values.url }}
{{- $_ := set $config $name (include "hyperfleet-console.source" (dict "root" $ "values" $values "token" $name) | fromYaml) }}
{{- end }}
{{- end }}
{{- $adapters := list }}
{{- range $index, $values := .Values.adapters }}
{{- $source := include "hyperfleet-console.source" (dict "root" $ "values" $values "token" (printf "adapter-%d" $index)) | fromYaml }}
{{- $adapters = append $adapters (merge (dict "name" $values.name) $source) }}
{{- end }}
{{- if $adapters }}
{{- $_ := set $config "adapters" $adapters }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/* What the program and `helm test` mount. */}}
{{- define "hyperfleet-console.mounts" -}}
- name: config
  mountPath: /etc/hyperfleet/console.yaml
  subPath: console.yaml
  readOnly: true
{{- end }}

{{- define "hyperfleet-console.volumes" -}}
- name: config
  configMap:
    name: {{ include "common.fullname" . }}
{{- end }}

{{/* The tokens as sources of a volume, a file for each. A changed Secret needs no new Pod: the console reads the files again. */}}
{{- define "hyperfleet-console.tokens" -}}
{{- $secrets := list }}
{{- range $name, $values := dict "access" .Values.access "api" .Values.api "exporter" .Values.exporter "sweeper" .Values.sweeper }}
{{- $secrets = append $secrets (merge (dict "file" $name) $values) }}
{{- end }}
{{- range $index, $values := .Values.adapters }}
{{- $secrets = append $secrets (merge (dict "file" (printf "adapter-%d" $index)) $values) }}
{{- end }}
{{- range $secrets }}
{{- if .existingSecret }}
- secret:
    name: {{ .existingSecret }}
    items:
      - key: {{ default "token" .key }}
        path: {{ .file }}
{{- end }}
{{- end }}
{{- with .Values.api.auth }}
{{- if .enabled }}
- serviceAccountToken:
    audience: {{ .audience }}
    expirationSeconds: {{ .expirationSeconds }}
    path: api
{{- end }}
{{- end }}
{{- end }}
