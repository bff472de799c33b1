// Bundles the view for its hosts: the widget's module and style sheet, and the two entry points that the labextension build takes over.
import { build } from 'esbuild';

const production = process.argv.includes('--production');
const harness = process.argv.includes('--harness');
const shared = {
  bundle: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  logLevel: 'warning',
  minify: production,
  sourcemap: production ? false : 'inline',
};

const statics = '../kbeval_jupyter/widgets/static';
await Promise.all([
  build({ ...shared, entryPoints: ['src/hosts/widget.ts'], outfile: `${statics}/view.js` }),
  build({ ...shared, entryPoints: ['style/view.css'], outfile: `${statics}/view.css`, sourcemap: false }),
  // JupyterLab shares its own packages at run time, so they stay imports here.
  build({
    ...shared,
    minify: false, // the labextension build minifies
    entryPoints: { mime: 'src/hosts/mime.ts', plugin: 'src/hosts/plugin.ts' },
    outdir: 'lib',
    external: ['@jupyterlab/*', '@lumino/*'],
  }),
  harness && build({ ...shared, entryPoints: ['harness/harness.ts'], outfile: 'harness/build/harness.js' }),
]);
