//! Writes a task's shape as a task file.

use std::fmt::{self, Write as _};

use super::{Atom, Discovery, Gate, Kind, MARKER, NAMES, Naming, ResourceShape, TaskShape, patch_field};

impl TaskShape {
    /// The task file; `group` is that of the custom kind.
    pub(crate) fn yaml(&self, group: &str) -> String {
        let mut text =
            "params:\n  - { name: id, source: event.id }\n  - { name: namespace, source: event.namespace }\n  \
                        - { name: generation, source: event.generation, type: int }\n  \
                        - { name: flags, source: event.flags }\nresources:\n"
                .to_owned();
        for (place, resource) in self.resources.iter().enumerate() {
            let written = resource.write(&mut text, place, group);
            written.unwrap_or_else(|_| unreachable!("text takes any text"));
        }
        text
    }
}

impl ResourceShape {
    /// The template of the object's name.
    fn name(&self, place: usize) -> String {
        let name = NAMES[place];
        match self.naming {
            Naming::Fixed => format!("{{{{ .id }}}}-{name}"),
            Naming::Generation => format!("{{{{ .id }}}}-{name}-{{{{ .generation }}}}"),
            Naming::Clock => format!("{{{{ .id }}}}-{name}-{{{{ dateFormat \"20060102150405\" now }}}}"),
        }
    }

    fn write(&self, out: &mut String, place: usize, group: &str) -> fmt::Result {
        let gvk = self.kind.gvk(group);
        writeln!(out, "  - name: {}", NAMES[place])?;
        if let Some(owner) = self.owner {
            writeln!(out, "    owner: {{ resource: {} }}", NAMES[owner])?;
        }
        if let Some(gate) = &self.when {
            writeln!(out, "    when: {{ expression: {} }}", gate.quoted())?;
        }
        if self.kind == Kind::Work {
            writeln!(
                out,
                "    transport: {{ client: maestro, maestro: {{ target_cluster: '{{{{ .namespace }}}}' }} }}"
            )?;
        }
        writeln!(out, "    manifest:\n      apiVersion: {}\n      kind: {}", gvk.api_version(), gvk.kind)?;
        writeln!(
            out,
            "      metadata:\n        name: '{}'\n        namespace: '{{{{ .namespace }}}}'",
            self.name(place)
        )?;
        writeln!(out, "        labels:\n          {MARKER}: '{{{{ .id }}}}'")?;
        for (key, value) in self.selector(place).iter().filter(|(key, _)| *key == "app") {
            writeln!(out, "          {key}: '{value}'")?;
        }
        match self.kind {
            Kind::ConfigMap | Kind::Widget => {
                writeln!(out, "      data: {{ of: 'generation {{{{ .generation }}}}' }}")?
            }
            Kind::Job => {
                writeln!(out, "        annotations: {{ of: 'generation {{{{ .generation }}}}' }}")?;
                writeln!(out, "      spec:\n        suspend: true\n        template:\n          spec:")?;
                writeln!(
                    out,
                    "            restartPolicy: Never\n            containers: [{{ name: work, image: none }}]"
                )?;
            }
            Kind::Work => {
                writeln!(out, "        annotations: {{ of: 'generation {{{{ .generation }}}}' }}")?;
                writeln!(out, "      spec:\n        workload:\n          manifests:")?;
                writeln!(out, "            - apiVersion: v1\n              kind: ConfigMap")?;
                writeln!(out, "              metadata: {{ name: settings, namespace: default }}")?;
                writeln!(out, "              data: {{ of: 'generation {{{{ .generation }}}}' }}")?;
            }
        }
        writeln!(out, "    discovery:\n      namespace: '{{{{ .namespace }}}}'")?;
        match self.discovery {
            Discovery::Name => writeln!(out, "      by_name: '{}'", self.name(place))?,
            _ => {
                writeln!(out, "      by_selectors:\n        label_selector:")?;
                for (key, value) in self.selector(place) {
                    writeln!(out, "          {key}: '{value}'")?;
                }
            }
        }
        if let Some(retention) = self.retention {
            writeln!(out, "    retention:")?;
            if let Some(limit) = retention.history_limit {
                writeln!(out, "      historyLimit: {limit}")?;
            }
            if let Some(hours) = retention.ttl_hours {
                writeln!(out, "      ttl: {hours}h")?;
            }
        }
        if self.adopt {
            writeln!(out, "    adopt: true")?;
        }
        if self.recreate_on_change {
            writeln!(out, "    recreate_on_change: true")?;
        }
        self.write_lifecycle(out)
    }

    fn write_lifecycle(&self, out: &mut String) -> fmt::Result {
        let gates =
            [("create", &self.create), ("apply", &self.apply), ("recreate", &self.recreate), ("orphan", &self.orphan)];
        if gates.iter().all(|(_, gate)| gate.is_none()) && self.delete.is_none() && self.patches.is_empty() {
            return Ok(());
        }
        writeln!(out, "    lifecycle:")?;
        for (key, gate) in gates {
            if let Some(gate) = gate {
                writeln!(out, "      {key}: {{ when: {{ expression: {} }} }}", gate.quoted())?;
            }
        }
        if let Some(gate) = &self.delete {
            let policy = format!("{:?}", self.propagation);
            writeln!(out, "      delete:\n        propagationPolicy: {policy}")?;
            writeln!(out, "        when: {{ expression: {} }}", gate.quoted())?;
        }
        if !self.patches.is_empty() {
            writeln!(out, "      patch:")?;
        }
        for (number, patch) in self.patches.iter().enumerate() {
            let field = format!("{{ {}: {} }}", patch_field(number), patch.value);
            let document = match self.kind {
                Kind::ConfigMap | Kind::Widget => format!("{{ data: {field} }}"),
                Kind::Job | Kind::Work => format!("{{ metadata: {{ annotations: {field} }} }}"),
            };
            writeln!(out, "        - when: {{ expression: {} }}", patch.when.quoted())?;
            writeln!(out, "          document: {document}")?;
        }
        Ok(())
    }
}

impl Gate {
    fn quoted(&self) -> String {
        let atoms: Vec<String> = self.0.iter().map(Atom::to_string).collect();
        format!("\"{}\"", atoms.join(" && "))
    }
}

impl fmt::Display for Atom {
    /// Writes the atom as CEL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Flag(flag, true) => write!(f, "flags.{}", flag.name()),
            Self::Flag(flag, false) => write!(f, "!flags.{}", flag.name()),
            Self::There(place) => write!(f, "resources.?{}.hasValue()", NAMES[place]),
            Self::Missing(place) => write!(f, "!resources.?{}.hasValue()", NAMES[place]),
            Self::Differs(place, number, value) => {
                let (name, field) = (NAMES[place], patch_field(number));
                let read = |fields: &str| format!("resources.?{name}{fields}.?{field}.orValue('')");
                let (data, annotations) = (read(".?data"), read(".?metadata.?annotations"));
                write!(f, "resources.?{name}.hasValue() && {data} != '{value}' && {annotations} != '{value}'")
            }
            Self::Behind(place) => {
                write!(
                    f,
                    "int(resources.{}.metadata.annotations['hyperfleet.io/generation']) < generation",
                    NAMES[place]
                )
            }
            Self::Done(place) => {
                let status = format!("resources.{}.status", NAMES[place]);
                let is_available = "c.type == 'Available' && c.status == 'True'";
                write!(f, "({status}.?phase.orValue('') == 'Done'")?;
                write!(f, " || {status}.?conditions.orValue([]).exists(c, {is_available}))")
            }
        }
    }
}
