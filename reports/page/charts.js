// Draws the charts: every <figure data-chart> holds its Vega-Lite specification as JSON.
//
// Expressions are interpreted (vega-interpreter), never compiled, so that the page's
// Content-Security-Policy needs no unsafe-eval. Colours are CSS variables of page.css: light, dark and
// print need no second drawing.
import {parse, View, Warn} from 'vega';
import {expressionInterpreter} from 'vega-interpreter';
import {compile} from 'vega-lite';
import {Handler} from 'vega-tooltip';

const colours = Array.from({length: 8}, (_, i) => `var(--series-${i + 1})`);
const text = {labelColor: 'var(--muted)', titleColor: 'var(--text)'};
const font = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const config = {
  background: 'transparent',
  font,
  view: {stroke: null},
  axis: {
    ...text,
    domainColor: 'var(--axis)',
    tickColor: 'var(--axis)',
    gridColor: 'var(--grid)',
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 600,
    titlePadding: 8,
    labelPadding: 4,
    labelLimit: 260,
  },
  header: {...text, labelColor: 'var(--text)', labelFontSize: 12, labelLimit: 260, titleFontSize: 12},
  legend: {
    ...text,
    labelColor: 'var(--text)',
    orient: 'top',
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 600,
    symbolSize: 80,
    symbolStrokeWidth: 2,
    symbolOpacity: 1,
    columnPadding: 14,
    labelLimit: 300,
  },
  text: {color: 'var(--text)', fontSize: 12},
  rule: {color: 'var(--muted)'},
  line: {strokeWidth: 2},
  point: {size: 48, filled: true, opacity: 1},
  range: {category: colours},
};

// Vega-Lite sizes a single view by its container but not a facet: those say how many columns they
// have and how much room their axes take, once (shared) or in each column.
const kNarrow = 560;
function fitted(spec, width) {
  const {columns, room, shared} = spec.usermeta ?? {};
  if (columns) {
    const shown = width < kNarrow ? 1 : columns;
    if (spec.columns) spec.columns = shown;
    const axes = shared ? room + 20 * (shown - 1) : (room + 20) * shown - 20;
    spec.spec.width = Math.max(120, Math.floor((width - axes - 12) / shown));
  }
  return spec;
}

// On a telephone legends wrap, and labels of rows are cut; the table has them in full.
function config_for(width) {
  if (width >= kNarrow) return config;
  const columns = Math.max(1, Math.floor(width / 220));
  return {
    ...config,
    axis: {...config.axis, labelLimit: 200},
    legend: {...config.legend, columns, labelLimit: 240},
  };
}

function name(svg, figure, id) {
  const element = (tag, content) => {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    node.id = `${id}-${tag}`;
    node.textContent = content;
    return node;
  };
  svg.prepend(element('title', figure.dataset.title), element('desc', figure.dataset.description));
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-labelledby', `${id}-title ${id}-desc`);
}

const views = new Map();
async function draw(figure) {
  const place = figure.querySelector('.chart');
  const id = figure.dataset.chart;
  try {
    const spec = fitted(JSON.parse(figure.querySelector('script').textContent), place.clientWidth);
    const {spec: vega} = compile(spec, {config: config_for(place.clientWidth)});
    views.get(id)?.finalize();
    const view = new View(parse(vega, null, {ast: true}), {
      expr: expressionInterpreter,
      renderer: 'svg',
      logLevel: Warn,
      hover: true,
      tooltip: new Handler({disableDefaultStyle: true}).call,
    });
    views.set(id, view);
    await view.initialize(place).runAsync();
    const svg = place.querySelector('svg');
    name(svg, figure, id);
    place.removeAttribute('role');  // Vega names the container; the picture is the svg
    place.removeAttribute('aria-roledescription');
    figure.dataset.drawn = 'yes';
  } catch (error) {
    figure.dataset.drawn = 'failed';
    place.textContent = `This chart could not be drawn (${error.message}); its table is below.`;
    console.error(`chart ${id}: ${error.message}`);
  }
}

const figures = [...document.querySelectorAll('figure[data-chart]')];
const draw_all = () => Promise.all(figures.map(draw));
draw_all();

let width = window.innerWidth;
let timer = 0;
window.addEventListener('resize', () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  clearTimeout(timer);
  timer = setTimeout(draw_all, 150);
});
