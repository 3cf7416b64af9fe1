{{/* The configuration file: `config`, and what other values say. */}}
{{- define "hyperfleet-sweeper.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $_ := set $config "dry_run" .Values.dryRun }}
{{- $_ := set $config "health" (dict "listen" (printf ":%v" .Values.ports.health)) }}
{{- $_ := set $config "metrics" (dict "listen" (printf ":%v" .Values.ports.metrics)) }}
{{- $_ := set $config "lease" (merge (dict "namespace" .Release.Namespace) (default dict $config.lease) (dict "name" (include "common.fullname" .))) }}
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
{{- if not $config.adapters }}
{{- fail "config.adapters is required: the names of the adapters whose objects are swept, such as --set 'config.adapters={cluster-provisioner}'" }}
{{- end }}
{{- toYaml $config }}
{{- end }}
