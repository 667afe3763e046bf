// Bundles charts.js and what it needs into charts.min.js, and the licence texts of everything that
// ended up in it into licences.txt. Runs in the build directory: `node bundle.mjs` after `npm ci`.
import {existsSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {build} from 'esbuild';

const result = await build({
  entryPoints: ['charts.js'],
  outfile: 'charts.min.js',
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2020',
  charset: 'ascii',
  legalComments: 'none',
  metafile: true,
  supported: {'inline-script': false},  // no "</script" may survive inside a string
});

const folders = new Set();
for (const input of Object.keys(result.metafile.outputs['charts.min.js'].inputs)) {
  const match = input.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)/);
  if (match) folders.add(match[1]);
}

// Packages that share a text (the d3 family, the vega family) are named together above it.
const texts = new Map();
for (const folder of [...folders].sort()) {
  const {name, version, license} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const text = file && existsSync(join(folder, file))
    ? readFileSync(join(folder, file), 'utf8').trim()
    : `Licence: ${license}`;
  texts.set(text, [...(texts.get(text) ?? []), `${name} ${version}`]);
}
const parts = [...texts].map(([text, names]) => `${names.join(', ')}\n\n${text}\n`);
writeFileSync('licences.txt', parts.join(`\n${'-'.repeat(72)}\n\n`));
