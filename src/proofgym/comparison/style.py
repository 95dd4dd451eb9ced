"""How a report looks: light, dark, on a phone and printed."""

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1d2127; --quiet: #5b6470; --faint: #e2e5ea;
  --card: #f6f7f9; --c0: #1f6fb4; --c1: #c8501e; --c2: #2b8a4b; --c3: #8a56b0; --c4: #b58a00;
  --c5: #0f8a8f; --c6: #b83a6b; --c7: #6b7280; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --ink: #e6e9ee; --quiet: #9aa4b1;
  --faint: #2c323a; --card: #1c2026; --c0: #5aa9ea; --c1: #f08a5d; --c2: #5fc585; --c3: #bb8fe0;
  --c4: #dcb53a; --c5: #4cc4c9; --c6: #ee7fa8; --c7: #9ca3af; } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 66rem; padding: 1.2rem; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.7rem; margin: .4rem 0 0; line-height: 1.2 }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; padding-top: .6rem;
  border-top: 1px solid var(--faint) }
h3 { font-size: 1rem; margin: 1rem 0 .3rem }
p.quiet, .quiet, figcaption { color: var(--quiet); font-size: .9rem }
ul.claims { padding: .8rem 1rem .8rem 2rem; background: var(--card); border-radius: .6rem;
  margin: 1rem 0 }
ul.claims li { margin: .35rem 0 }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(19rem, 1fr)); gap: 1rem }
figure { margin: 0 } figure svg { width: 100%; height: auto; display: block }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: .4rem 0; font-size: .92rem }
.legend svg { vertical-align: middle; margin-right: .4em }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; padding: .32rem .7rem .32rem 0; border-bottom: 1px solid var(--faint);
  vertical-align: top } th { font-weight: 600; color: var(--quiet) }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.s { white-space: nowrap } code { font-size: .86em; overflow-wrap: anywhere }
.bar { vertical-align: middle } .bad { color: var(--c1) }
@media print { body { font-size: 11px; max-width: none } h2 { break-after: avoid }
  figure, tr, ul.claims { break-inside: avoid }
  :root { --page: #fff; --ink: #111; --quiet: #444; --faint: #ddd; --card: #f4f4f4 } }
"""
