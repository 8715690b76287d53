import { defineConfig } from 'vite'

/** What is no part of the dashboard's sources is asked of a gateway that runs here. */
const gateway = process.env['GATEWAY_URL'] ?? 'http://127.0.0.1:8080'

/** What is loaded at once: the frame, and what the first page shares with others. In many files it would be larger. */
const first = /\/src\/(?:main|elements\/(?:money|range-choice|table|when-loaded))\.tsx$/

/**
 * The dashboard's build: hashed files, which the gateway serves below `/dashboard`. `npm run dashboard`
 * serves the sources themselves, and each change of them is seen at once.
 */
// oxlint-disable-next-line import/no-default-export -- Vite asks for it
export default defineConfig({
  root: import.meta.dirname,
  base: '/dashboard/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [
    {
      name: 'first-page',
      // Vite itself knows the first page with a slash alone.
      configureServer: ({ middlewares }) => {
        middlewares.use((request, _response, next) => {
          request.url = request.url?.replace(/^\/dashboard(?=\?|$)/, '/dashboard/')
          next()
        })
      },
    },
  ],
  server: {
    host: '127.0.0.1',
    proxy: { '^/(?!dashboard(?:/|$|\\?))': gateway },
  },
  build: {
    outDir: 'dist',
    target: 'es2023',
    // The content security policy allows no `data:` addresses of fonts or scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    // By it the gateway has browsers load what a page needs together with the frame.
    manifest: 'manifest.json',
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'frame', test: first }] } } },
    // What is shipped of others comes with their notices.
    license: { fileName: 'licences.txt' },
  },
})
