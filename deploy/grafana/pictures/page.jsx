// The page that draw.mjs takes a picture of: the panels of `window.DATA`, each with the component that Grafana draws it with.
import React from 'react';
import ReactDOM from 'react-dom';
import { FieldType, applyFieldOverrides, createTheme, dateTime, getDisplayProcessor } from '@grafana/data';
import { BigValue, GlobalStyles, PanelChrome, Table, ThemeContext, TimeSeries } from '@grafana/ui';
import 'uplot/dist/uPlot.min.css';

const { title, panels, from, to, step, width, row } = window.DATA;
const theme = createTheme({ colors: { mode: 'light' } });
const zone = 'utc';
const range = { from: dateTime(from * 1000), to: dateTime(to * 1000), raw: { from: 'then', to: 'now' } };
const times = [];
for (let time = from; time <= to; time += step) times.push(time);

function name(format, labels) {
  return format ? format.replace(/\{\{(\w+)\}\}/g, (_, key) => labels[key] ?? '') : JSON.stringify(labels);
}

/** The settings of a field: the panel's, and those that it overrides for a column. */
function settings(panel, column) {
  const { defaults, overrides } = panel.fieldConfig;
  const config = structuredClone(defaults);
  config.custom ??= {};
  for (const { matcher, properties } of overrides ?? []) {
    if (matcher.options !== column) continue;
    for (const { id, value } of properties) {
      if (id.startsWith('custom.')) config.custom[id.slice(7)] = value;
      else config[id] = value;
    }
  }
  return config;
}

function prepare(panel, frames) {
  const data = applyFieldOverrides({ data: frames, fieldConfig: { defaults: {}, overrides: [] }, theme, timeZone: zone, replaceVariables: (text) => text });
  data.forEach((frame) => frame.fields.forEach((field) => { field.display = getDisplayProcessor({ field, theme, timeZone: zone }); }));
  return data;
}

function graph(panel, w, h) {
  const frames = panel.answers.flatMap((series, n) => series.map(({ metric, values }) => {
    const at = new Map(values.map(([time, value]) => [time, Number(value)]));
    const config = settings(panel);
    config.displayName = name(panel.targets[n].legendFormat, metric);
    config.color ??= { mode: 'palette-classic' };
    config.custom = { drawStyle: 'line', lineInterpolation: 'linear', axisPlacement: 'auto', spanNulls: false, scaleDistribution: { type: 'linear' }, ...config.custom };
    const points = times.map((time) => { const value = at.get(time); return Number.isFinite(value) ? value : null; });
    return {
      refId: panel.targets[n].refId, length: times.length,
      fields: [
        { name: 'Time', type: FieldType.time, config: {}, values: vector(times.map((time) => time * 1000)) },
        { name: 'Value', type: FieldType.number, config, labels: metric, values: vector(points) },
      ],
    };
  }));
  if (frames.length === 0) return <Center h={h}>No data</Center>;
  return <TimeSeries frames={prepare(panel, frames)} timeRange={range} timeZone={zone} width={w} height={h} legend={panel.options.legend} options={panel.options} tweakScale={(o) => o} tweakAxis={(o) => o} />;
}

function vector(array) {
  return { length: array.length, get: (n) => array[n], toArray: () => array, toJSON: () => array, buffer: array };
}

function stat(panel, w, h) {
  const found = panel.answers.flatMap((series, n) => series.map(({ metric, value }) => [name(panel.targets[n].legendFormat, metric), Number(value[1])]));
  const shown = found.length ? found : [['', null]];
  const field = { name: '', type: FieldType.number, config: settings(panel), values: vector(shown.map(([, value]) => value)) };
  field.config.color = { mode: 'thresholds' };
  const display = getDisplayProcessor({ field, theme, timeZone: zone });
  return (
    <div style={{ display: 'flex', gap: 4 }}>
      {shown.map(([label, value]) => (
        <BigValue key={label} theme={theme} width={w / shown.length - 2} height={h} colorMode="background" graphMode="none" textMode={panel.options.textMode} justifyMode="auto" value={{ ...display(value), title: label }} />
      ))}
    </div>
  );
}

/** Joins the answers by their labels, and renames, orders and sorts the columns as the panel's transformation says. */
function table(panel, w, h) {
  const { renameByName, indexByName, excludeByName = {} } = panel.transformations.find(({ id }) => id === 'organize').options;
  const rows = new Map();
  panel.answers.forEach((series, n) => series.forEach(({ metric, value }) => {
    const own = panel.answers.length > 1 ? `Value #${panel.targets[n].refId}` : 'Value';
    const key = JSON.stringify(Object.entries(metric).filter(([label]) => panel.answers.every((all) => all.length === 0 || label in all[0].metric)).sort());
    rows.set(key, { ...rows.get(key), ...metric, [own]: Number(value[1]) });
  }));
  const columns = Object.keys(renameByName).filter((column) => !excludeByName[column]).sort((a, b) => indexByName[a] - indexByName[b]);
  const lines = [...rows.values()];
  for (const { displayName, desc } of [...(panel.options.sortBy ?? [])].reverse()) {
    const column = columns.find((it) => renameByName[it] === displayName);
    lines.sort((a, b) => (a[column] < b[column] ? -1 : a[column] > b[column] ? 1 : 0) * (desc ? -1 : 1));
  }
  if (lines.length === 0) return <Center h={h}>No data</Center>;
  const fields = columns.map((column) => {
    const config = settings(panel, renameByName[column]);
    const isNumber = lines.some((line) => typeof line[column] === 'number');
    if (config.thresholds) config.color = { mode: 'thresholds' };
    return { name: renameByName[column], type: isNumber ? FieldType.number : FieldType.string, config, values: vector(lines.map((line) => line[column] ?? null)) };
  });
  const [frame] = prepare(panel, [{ fields, length: lines.length }]);
  return <Table data={frame} width={w} height={h} cellHeight="sm" columnMinWidth={60} />;
}

/** The package has no heat map, so this one is drawn here: a cell for each bucket and time, the darker the more. */
function heatmap(panel, w, h) {
  const buckets = panel.answers[0].map(({ metric, values }) => [Number(metric.le.replace('+Inf', 'Infinity')), new Map(values)]).sort(([a], [b]) => a - b);
  if (buckets.length === 0) return <Center h={h}>No data</Center>;
  const few = times.filter((_, n) => n % 5 === 0);
  const counts = buckets.map(([, at], n) => few.map((time) => Number(at.get(time) ?? 0) - Number(n ? buckets[n - 1][1].get(time) ?? 0 : 0)));
  const most = Math.max(1, ...counts.flat());
  const [left, cw, ch] = [50, (w - 60) / few.length, (h - 10) / buckets.length];
  const label = (le) => (le === Infinity ? 'more' : le >= 86400 ? `${le / 86400} d` : le >= 3600 ? `${le / 3600} h` : le >= 60 ? `${le / 60} min` : `${le} s`);
  return (
    <svg width={w} height={h} fontSize="11" fill={theme.colors.text.secondary}>
      {buckets.map(([le], n) => <text key={n} x={left - 6} y={h - n * ch - ch / 2} textAnchor="end">{label(le)}</text>)}
      {counts.flatMap((line, n) => line.map((count, m) => count > 0 && <rect key={`${n} ${m}`} x={left + m * cw} y={h - 4 - (n + 1) * ch} width={cw} height={ch - 1} fill="#f2700d" opacity={0.2 + (0.8 * count) / most} />))}
    </svg>
  );
}

const Center = ({ h, children }) => <div style={{ height: h, display: 'grid', placeItems: 'center', color: theme.colors.text.secondary }}>{children}</div>;
const DRAW = { timeseries: graph, stat, table, heatmap };
const cell = (width - 8) / 24;

function Panel({ panel }) {
  const { x, y, w, h } = panel.gridPos;
  const place = { position: 'absolute', left: 8 + x * cell, top: 40 + y * row, width: w * cell - 8, height: h * row - 8 };
  if (panel.type === 'row') return <h4 style={{ ...place, margin: 0 }}>{panel.title}</h4>;
  return (
    <div style={place}>
      <PanelChrome title={panel.title} width={place.width} height={place.height}>
        {(innerW, innerH) => DRAW[panel.type](panel, innerW, innerH)}
      </PanelChrome>
    </div>
  );
}

const root = document.body.appendChild(document.createElement('div'));
ReactDOM.render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles />
    <style>{'* { box-sizing: border-box }'}</style>
    <div style={{ position: 'absolute', inset: 0, background: theme.colors.background.canvas }} />
    <h3 style={{ position: 'absolute', left: 12, top: 8, margin: 0 }}>{title}</h3>
    {panels.map((panel) => <Panel key={panel.id} panel={panel} />)}
  </ThemeContext.Provider>,
  root,
);
