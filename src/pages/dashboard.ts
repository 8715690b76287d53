import { existsSync, readdirSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { StaticFile } from './static-file.ts'

const built = new URL('../../dashboard/dist/', import.meta.url)

const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self' data: blob:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
}
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
/** Their names change with what they hold. */
const assetHeaders = { 'cache-control': 'public, max-age=31536000, immutable' }

/** The page of the dashboard, for every address below `/dashboard`; its script shows what it names. */
export function dashboardPage(): StaticFile {
  return {
    type: 'text/html; charset=utf-8',
    content: existsSync(built) ? new URL('index.html', built) : notBuilt,
    headers: pageHeaders,
  }
}

const notBuilt = `<!doctype html><html lang="en"><title>The dashboard is not built</title>
<h1>The dashboard is not built</h1>
<p>Run <code>npm ci</code> and <code>npm start</code> where the gateway is installed.</p></html>
`

/** The files that the page loads, by path. */
export function dashboardAssets(): Readonly<Record<string, StaticFile>> {
  const folder = fileURLToPath(new URL('assets/', built))
  if (!existsSync(folder)) return {}
  return Object.fromEntries(
    readdirSync(folder).flatMap((name) => {
      const type = types[extname(name)]
      if (type === undefined) return []
      const content = new URL(`assets/${name}`, built)
      return [[`/dashboard/assets/${name}`, { type, content, headers: assetHeaders }]]
    }),
  )
}
