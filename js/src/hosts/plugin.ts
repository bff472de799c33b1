// The JupyterLab plugin. It has nothing to do yet; the MIME renderer beside it is an extension of its own.

const plugin = {
  id: 'kbeval-jupyter:plugin',
  description: 'Kernel evaluation in JupyterLab.',
  autoStart: true,
  activate: (): void => {},
};

export default plugin;
