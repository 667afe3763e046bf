// The page's own small script: works without the charts. Theme, saving reports and tables, opening
// everything for print, filtering the table of measurements.
'use strict';
const root = document.documentElement;

// Theme: follows the system until the button says otherwise; remembered where storage is allowed.
const themes = ['auto', 'light', 'dark'];
function set_theme(theme) {
  if (theme === 'auto') delete root.dataset.theme;
  else root.dataset.theme = theme;
  document.getElementById('theme').textContent = `Theme: ${theme}`;
}
function remembered() {
  try {
    return themes.includes(localStorage.theme) ? localStorage.theme : 'auto';
  } catch {
    return 'auto';
  }
}
let theme = remembered();
set_theme(theme);
document.getElementById('theme').addEventListener('click', () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  set_theme(theme);
  try {
    localStorage.theme = theme;
  } catch { /* a file opened from disk may have no storage */ }
});

function save(name, type, text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function save_report(id) {
  const holder = document.getElementById(id);
  save(holder.dataset.file, 'application/json', `${holder.textContent.trim()}\n`);
}
for (const button of document.querySelectorAll('button[data-save]')) {
  button.addEventListener('click', () => {
    const ids = button.dataset.save.split(' ');
    ids.forEach((id, i) => setTimeout(save_report, 200 * i, id));
  });
}
document.getElementById('print').addEventListener('click', () => window.print());

// Every table can be taken away as CSV.
const quoted = (cell) => {
  const text = cell.dataset.raw ?? cell.textContent.trim();
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
for (const table of document.querySelectorAll('table[data-name]')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'small';
  button.textContent = 'Save CSV';
  button.setAttribute('aria-label', `Save the table ${table.dataset.name} as CSV`);
  button.addEventListener('click', () => {
    const lines = [...table.rows].map((row) => [...row.cells].map(quoted).join(','));
    save(`${table.dataset.name}.csv`, 'text/csv', `${lines.join('\n')}\n`);
  });
  table.parentElement.before(button);
}

// Filter: rows whose text holds every word.
const filter = document.getElementById('filter');
if (filter) {
  filter.hidden = false;
  const rows = [...document.querySelectorAll('#all-measurements tbody tr')];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const count = document.getElementById('filter-count');
  filter.querySelector('input').addEventListener('input', (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word));
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = `${shown} of ${rows.length}`;
  });
}

// Print: every table of a chart is opened, and closed again afterwards.
let opened = [];
window.addEventListener('beforeprint', () => {
  opened = [...document.querySelectorAll('details:not([open]):not([data-no-print])')];
  opened.forEach((details) => (details.open = true));
});
window.addEventListener('afterprint', () => opened.forEach((details) => (details.open = false)));
