{{/* The configuration file: `config`, and what other values say. */}}
{{- define "hyperfleet-sweeper.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $_ := set $config "dry_run" .Values.dryRun }}
{{- $_ := set $config "health" (dict "listen" (printf ":%v" .Values.ports.health)) }}
{{- $_ := set $config "metrics" (dict "listen" (printf ":%v" .Values.ports.metrics)) }}
{{- $_ := set $config "lease" (merge (dict "namespace" .Release.Namespace) (default dict $config.lease) (dict "name" (include "common.fullname" .))) }}
{{- if and .Values.api.existingSecret .Values.api.auth.enabled }}
{{- fail "set one of api.existingSecret and api.auth.enabled" }}
{{- end }}
{{- if or .Values.api.existingSecret .Values.api.auth.enabled }}
{{- $_ := set $config "api" (merge (dict "token_file" "/etc/hyperfleet/api/token") (default dict $config.api) (dict "auth_scheme" .Values.api.auth.scheme)) }}
{{- end }}
{{- if .Values.signingKeys }}
{{- $files := list }}
{{- range $index, $key := .Values.signingKeys }}
{{- $files = append $files (printf "/etc/hyperfleet/signing/%d/%s" $index (default "signing.key" $key.key)) }}
{{- end }}
{{- $_ := set $config "signing_key_files" $files }}
{{- end }}
{{- if .Values.audit.existingClaim }}
{{- $_ := set $config "audit" (merge (default dict $config.audit) (dict "file" "/var/log/hyperfleet/sweeper-audit.jsonl")) }}
{{- end }}
{{- if .Values.plan.existingSecret }}
{{- $_ := set $config "plan" (merge (dict "token_file" "/etc/hyperfleet/plan/token") (default dict $config.plan)) }}
{{- end }}
{{- if not $config.adapters }}
{{- fail "config.adapters is required: the names of the adapters whose objects are swept, such as --set 'config.adapters={cluster-provisioner}'" }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/* What the program and `helm test` mount. */}}
{{- define "hyperfleet-sweeper.mounts" -}}
- name: config
  mountPath: /etc/hyperfleet/sweeper.yaml
  subPath: sweeper.yaml
  readOnly: true
{{- range $index, $_ := .Values.signingKeys }}
- name: signing-key-{{ $index }}
  mountPath: /etc/hyperfleet/signing/{{ $index }}
  readOnly: true
{{- end }}
{{- if .Values.audit.existingClaim }}
- name: audit
  mountPath: /var/log/hyperfleet
{{- end }}
{{- end }}

{{- define "hyperfleet-sweeper.volumes" -}}
- name: config
  configMap:
    name: {{ include "common.fullname" . }}
{{- range $index, $key := .Values.signingKeys }}
- name: signing-key-{{ $index }}
  {{- if $key.volume }}
  {{- toYaml $key.volume | nindent 2 }}
  {{- else }}
  secret:
    secretName: {{ required "signingKeys: each needs secretName or volume" $key.secretName }}
    defaultMode: 0440
  {{- end }}
{{- end }}
{{- with .Values.audit.existingClaim }}
- name: audit
  persistentVolumeClaim:
    claimName: {{ . }}
{{- end }}
{{- end }}
