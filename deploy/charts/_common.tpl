{{/*
What the charts of all programs say in the same way. Each chart has a link to this file among its templates.

Every template takes the chart's root context, if its comment names nothing else.
*/}}

{{- define "common.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The name of a release's objects: `helm create` makes it in this way, and so does the Go adapter's chart. */}}
{{- define "common.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "common.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "common.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Only what never changes: a Deployment's selector cannot be updated. */}}
{{- define "common.selectorLabels" -}}
app.kubernetes.io/name: {{ include "common.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "common.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "common.selectorLabels" . }}
app.kubernetes.io/version: {{ default .Chart.AppVersion .Values.image.tag | toString | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/component: {{ .Chart.Name }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "common.metadata" -}}
name: {{ include "common.fullname" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "common.labels" . | nindent 2 }}
{{- end }}

{{/* The image: registry, repository and tag are required, because no registry publishes one. */}}
{{- define "common.image" -}}
{{- $image := .Values.image }}
{{- range $key := list "registry" "repository" "tag" }}
{{- $value := get $image $key }}
{{- if or (not $value) (eq (toString $value) "CHANGE_ME") }}
{{- fail (printf "%s: image.%s is required: set it to where your registry has the image, such as --set image.%s=…" $.Chart.Name $key $key) }}
{{- end }}
{{- end }}
{{- printf "%s/%s:%s" $image.registry $image.repository (toString $image.tag) }}
{{- end }}

{{/* The part of a Pod's specification that no program has in another way. */}}
{{- define "common.podSpec" -}}
serviceAccountName: {{ include "common.serviceAccountName" . }}
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
topologySpreadConstraints:
  {{- if .Values.topologySpreadConstraints }}
  {{- toYaml .Values.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  - topologyKey: kubernetes.io/hostname
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "common.selectorLabels" . | nindent 8 }}
  {{- end }}
{{- end }}

{{/* Image, ports, probes and limits of the program's container. */}}
{{- define "common.container" -}}
image: {{ include "common.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
ports:
  - name: http
    containerPort: {{ .Values.ports.health }}
  - name: metrics
    containerPort: {{ .Values.ports.metrics }}
{{- with .Values.ports.pages }}
{{- if not $.Values.access.sidecarPort }}
  - name: pages
    containerPort: {{ . }}
{{- end }}
{{- end }}
{{- range $key, $path := dict "livenessProbe" "/healthz" "readinessProbe" "/readyz" "startupProbe" "/healthz" }}
{{- $probe := get $.Values $key | default dict }}
{{- if $probe.enabled }}
{{ $key }}:
  httpGet:
    path: {{ $path }}
    port: http
  {{- toYaml (omit $probe "enabled") | nindent 2 }}
{{- end }}
{{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
{{- end }}

{{- define "common.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "common.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "common.labels" . | nindent 4 }}
  {{- with .Values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "common.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "common.metadata" . | nindent 2 }}
spec:
  type: ClusterIP
  selector:
    {{- include "common.selectorLabels" . | nindent 4 }}
  ports:
    - name: http
      port: {{ .Values.ports.health }}
      targetPort: http
    - name: metrics
      port: {{ .Values.ports.metrics }}
      targetPort: metrics
    {{- with .Values.ports.pages }}
    - name: pages
      port: {{ . }}
      targetPort: {{ $.Values.access.sidecarPort | default "pages" }}
    {{- end }}
{{- end }}

{{/* The name of the Service by which the console finds every replica. */}}
{{- define "common.headlessName" -}}
{{ include "common.fullname" . | trunc 54 | trimSuffix "-" }}-headless
{{- end }}

{{/*
A Service beside the one above, because that one's address cannot be taken from it. It has no port `metrics`, so a ServiceMonitor
finds each Pod once. A replica that is not ready has addresses, too: it is the one that somebody wants to look at.
*/}}
{{- define "common.headlessService" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "common.headlessName" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "common.labels" . | nindent 4 }}
spec:
  type: ClusterIP
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    {{- include "common.selectorLabels" . | nindent 4 }}
  ports:
    - name: http
      port: {{ .Values.ports.health }}
      targetPort: http
{{- end }}

{{/* Binds roles to the release's service account. Takes `root`, `kind` (Role or ClusterRole), `name`, and `namespace` of a Role. */}}
{{- define "common.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "common.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "common.serviceAccountName" .root }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}

{{- define "common.podDisruptionBudget" -}}
{{- with .Values.podDisruptionBudget }}
{{- if .enabled }}
{{- $hasMin := and (hasKey . "minAvailable") (not (kindIs "invalid" .minAvailable)) }}
{{- $hasMax := and (hasKey . "maxUnavailable") (not (kindIs "invalid" .maxUnavailable)) }}
{{- if eq $hasMin $hasMax }}
{{- fail (printf "%s: set one of podDisruptionBudget.minAvailable and podDisruptionBudget.maxUnavailable, and the other to null" $.Chart.Name) }}
{{- end }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "common.metadata" $ | nindent 2 }}
spec:
  {{- if $hasMin }}
  minAvailable: {{ .minAvailable }}
  {{- else }}
  maxUnavailable: {{ .maxUnavailable }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "common.selectorLabels" $ | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}

{{/* Lets probes, scrapes and readers of pages in; restricts what goes out only if `egress` lists it, because only you know the addresses. */}}
{{- define "common.networkPolicy" -}}
{{- with .Values.networkPolicy }}
{{- if .enabled }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "common.metadata" $ | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "common.selectorLabels" $ | nindent 6 }}
  policyTypes:
    - Ingress
    {{- if .egress }}
    - Egress
    {{- end }}
  ingress:
    - ports:
        - port: metrics
        - port: http
      {{- with .from }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- if $.Values.ports.pages }}
    - ports:
        - port: {{ $.Values.access.sidecarPort | default "pages" }}
      {{- with .readers }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
  {{- with .egress }}
  egress:
    - ports:
        - port: 53
          protocol: UDP
        - port: 53
          protocol: TCP
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A ServiceMonitor or a PodMonitor of the Prometheus operator. Without its definitions, the object is left out. */}}
{{- define "common.monitor" -}}
{{- range $kind, $monitor := dict "ServiceMonitor" .Values.monitoring.serviceMonitor "PodMonitor" .Values.monitoring.podMonitor }}
{{- if and $monitor.enabled ($.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" $kind)) }}
---
apiVersion: monitoring.coreos.com/v1
kind: {{ $kind }}
metadata:
  name: {{ include "common.fullname" $ }}
  namespace: {{ default $.Release.Namespace $monitor.namespace }}
  labels:
    {{- include "common.labels" $ | nindent 4 }}
    {{- with $monitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "common.selectorLabels" $ | nindent 6 }}
  namespaceSelector:
    matchNames:
      - {{ $.Release.Namespace }}
  {{ ternary "endpoints" "podMetricsEndpoints" (eq $kind "ServiceMonitor") }}:
    - port: metrics
      path: /metrics
      interval: {{ $monitor.interval }}
      scrapeTimeout: {{ $monitor.scrapeTimeout }}
      honorLabels: {{ $monitor.honorLabels }}
      {{- with $monitor.relabelings }}
      relabelings:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $monitor.metricRelabelings }}
      metricRelabelings:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The alerts of the file `files/rules.yaml`. */}}
{{- define "common.prometheusRule" -}}
{{- with .Values.monitoring.prometheusRule }}
{{- if and .enabled ($.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PrometheusRule") }}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: {{ include "common.fullname" $ }}
  namespace: {{ default $.Release.Namespace .namespace }}
  labels:
    {{- include "common.labels" $ | nindent 4 }}
    {{- with .additionalLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- $.Files.Get "files/rules.yaml" | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* The dashboard of the file `files/dashboard.json`, as Grafana's sidecar looks for it. */}}
{{- define "common.dashboard" -}}
{{- with .Values.monitoring.dashboard }}
{{- if .enabled }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "common.fullname" $ }}-grafana-dashboard
  namespace: {{ default $.Release.Namespace .namespace }}
  labels:
    {{- include "common.labels" $ | nindent 4 }}
    {{ .label }}: {{ .labelValue | quote }}
data:
  {{ $.Chart.Name }}.json: |-
    {{- $.Files.Get "files/dashboard.json" | nindent 4 }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The Pod of `helm test`: runs the program once, with the configuration of the release. Takes `root`, `command`, `args`, and as
text `mounts` and `volumes`; `env` is optional.
*/}}
{{- define "common.test" -}}
apiVersion: v1
kind: Pod
metadata:
  name: {{ include "common.fullname" .root }}-test
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- omit (include "common.labels" .root | fromYaml) "app.kubernetes.io/name" | toYaml | nindent 4 }}
    # Another name than that of the selectors.
    app.kubernetes.io/name: {{ include "common.name" .root }}-test
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  securityContext:
    {{- toYaml .root.Values.podSecurityContext | nindent 4 }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: check
      image: {{ include "common.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      command:
        {{- toYaml .command | nindent 8 }}
      args:
        {{- toYaml .args | nindent 8 }}
      {{- with .env }}
      env:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml .root.Values.securityContext | nindent 8 }}
      resources:
        {{- toYaml .root.Values.resources | nindent 8 }}
      volumeMounts:
        {{- .mounts | nindent 8 }}
  volumes:
    {{- .volumes | nindent 4 }}
{{- end }}
