import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vite'

/** A running gateway, to which the development server forwards all requests for other files than the dashboard's. */
const gateway = process.env['GATEWAY_URL'] ?? 'http://127.0.0.1:8080'

/** Modules bundled into one file: the frame, and modules that the first page shares. Separate files would be larger. */
const first = /\/src\/(?:main|elements\/(?:money|range-choice|table|when-loaded))\.tsx$/

type Named = { name: string; version: string; license: string }

const readFont = (file: string) =>
  readFileSync(join(import.meta.dirname, '../third-party/figtree', file), 'utf8')

/**
 * Build of the dashboard: files with hashed names, which the gateway serves below `/dashboard`. `npm run
 * dashboard` serves the sources and reloads the page after each change.
 */
// oxlint-disable-next-line import/no-default-export -- Vite asks for it
export default defineConfig({
  root: import.meta.dirname,
  base: '/dashboard/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [
    {
      name: 'first-page',
      // Vite serves the first page only with a trailing slash.
      configureServer: ({ middlewares }) => {
        middlewares.use((request, _response, next) => {
          request.url = request.url?.replace(/^\/dashboard(?=\?|$)/, '/dashboard/')
          next()
        })
      },
    },
    {
      name: 'licence-of-the-font',
      // Vite lists only packages of npm.
      writeBundle: ({ dir = '' }) => {
        const { name, version, license } = JSON.parse(readFont('origin.json')) as Named
        const title = `## ${name} - ${version} (${license})`
        appendFileSync(join(dir, 'licences.txt'), `\n${title}\n\n${readFont('LICENSE')}`)
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
    // The content security policy forbids `data:` URLs for fonts and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    // The gateway reads it to preload the files that a page needs.
    manifest: 'manifest.json',
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'frame', test: first },
            { name: 'yaml', test: /node_modules\/yaml\// },
          ],
        },
      },
    },
    // The licences of bundled packages.
    license: { fileName: 'licences.txt' },
  },
})
