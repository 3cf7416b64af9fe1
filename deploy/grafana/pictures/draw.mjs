// Draws each dashboard as a PNG from the live data of a Prometheus, with Grafana's own components in a headless Chromium.
//
//   npm install --ignore-scripts && node draw.mjs http://127.0.0.1:9090 15 ../../../docs/pictures
//
// The arguments: Prometheus, how many minutes back the pictures begin, and the folder of the pictures.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const [prometheus, minutes, folder] = process.argv.slice(2);
const here = fileURLToPath(new URL('.', import.meta.url));
const WIDTH = 1500;
// Grafana's rows are 30 pixels high, with 8 between them.
const ROW = 38;
const to = Math.floor(Date.now() / 1000);
const from = to - 60 * minutes;
const step = Math.max(2, Math.ceil((to - from) / 300));

async function ask(target) {
  const query = target.expr
    .replaceAll('$__rate_interval', `${Math.max(30, 4 * step)}s`)
    .replaceAll('$__range', `${to - from}s`)
    .replace(/\$(namespace|resource_type|adapter_name)/g, '.*');
  const path = target.instant ? `query?time=${to}` : `query_range?start=${from}&end=${to}&step=${step}`;
  const answer = await (await fetch(`${prometheus}/api/v1/${path}&query=${encodeURIComponent(query)}`)).json();
  if (answer.status !== 'success') throw new Error(`${query}: ${answer.error}`);
  return answer.data.result;
}

const bundle = await build({
  entryPoints: [join(here, 'page.jsx')],
  bundle: true,
  write: false,
  outdir: here,
  define: { 'process.env.NODE_ENV': '"production"', global: 'window' },
  loader: { '.svg': 'dataurl' },
  logLevel: 'error',
});
const [script, style] = ['.js', '.css'].map((end) => bundle.outputFiles.find(({ path }) => path.endsWith(end)).text.replaceAll('</script', '<\\/script'));
for (const file of readdirSync(join(here, '../dashboards'))) {
  const dashboard = JSON.parse(readFileSync(join(here, '../dashboards', file)));
  const panels = await Promise.all(
    dashboard.panels.map(async (panel) => ({ ...panel, answers: await Promise.all((panel.targets ?? []).map(ask)) })),
  );
  const rows = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  const data = JSON.stringify({ title: dashboard.title, panels, from, to, step, width: WIDTH, row: ROW });
  const work = mkdtempSync(join(tmpdir(), 'pictures-'));
  const page = join(work, 'page.html');
  writeFileSync(page, `<!doctype html><meta charset="utf-8"><style>${style}</style><body><script>window.DATA=${data.replaceAll('</', '<\\/')}</script><script>${script}</script>`);
  const picture = join(folder, file.replace('.json', '.png'));
  const stdio = ['ignore', 'ignore', process.env.DEBUG ? 'inherit' : 'ignore'];
  const window = `--window-size=${WIDTH},${rows * ROW + 48}`;
  const options = ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--virtual-time-budget=10000', window];
  execFileSync('chromium', [...options, `--user-data-dir=${work}`, `--screenshot=${picture}`, `file://${page}`], { stdio });
  execFileSync('pngquant', ['--force', '--output', picture, '64', picture], { stdio });
  rmSync(work, { recursive: true, force: true });
}
