import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Router } from '@koa/router'
import { GatewayError } from '../core/error.ts'
import type { ExchangeState } from '../http/exchange.ts'
import { presentsSession } from '../http/session-cookie.ts'
import { serviceLinks } from './documents.ts'
import { bindFile, staticFile, type StaticFile } from './static-file.ts'

const built = new URL('../../dashboard/dist/', import.meta.url)

const pageHeaders = {
  vary: 'accept-encoding, cookie',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; " +
    "img-src 'self' data: blob:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.woff2': 'font/woff2',
}
/** Browsers may cache asset files for a year, since the file names contain a hash of the content. */
const assetHeaders = {
  'cache-control': 'public, max-age=31536000, immutable',
  'cross-origin-resource-policy': 'same-origin',
}

/** Headers of the pages for one-time links, which are not cached and send no Referer. */
const linkHeaders = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

/** Adds the routes of the dashboard. */
export function bindDashboard(router: Router<ExchangeState>): void {
  const served = { ...dashboardAssets(), ...oneTimeLinkPages(), '/docs': referencePage() }
  for (const [path, file] of Object.entries(served)) bindFile(router, path, file)
  // Registered after the literal paths, which are matched first.
  router.get(dashboardFiles, () => {
    // A page from before an update asks for files of its version.
    const text = 'This file is of another version of the dashboard. Reload the page.'
    throw new GatewayError('not_found', text)
  })
  const answerPlainly = staticFile(dashboardPage())
  const answers = new Map([...eagerPages()].map(([name, file]) => [name, staticFile(file)]))
  router.get(dashboardPaths, async ({ req, path, state }) => {
    const answerTo = presentsSession(req) ? answers.get(pageNameAt(path)) : undefined
    state.answer = await (answerTo ?? answerPlainly)(req)
  })
}

/** The pages for one-time links, by path; only the page's script reads the token of the link. */
function oneTimeLinkPages(): Readonly<Record<string, StaticFile>> {
  const { headers, ...page } = dashboardPage()
  const linked = { ...page, headers: { ...headers, ...linkHeaders } }
  const paths = ['setup', 'invitations', 'password']
  return Object.fromEntries(paths.map((path) => [`/dashboard/${path}`, linked]))
}

/** The HTML page for every path below `/dashboard`; its script shows the view for the path. */
function dashboardPage(): StaticFile {
  return {
    type: 'text/html; charset=utf-8',
    content: existsSync(built) ? new URL('index.html', built) : notBuilt,
    headers: pageHeaders,
  }
}

/** The HTML page at `/docs`, whose script shows the API reference. */
function referencePage(): StaticFile {
  const { headers, ...page } = dashboardPage()
  const links = [serviceLinks, preloadsByPage(built).get('reference')?.link ?? []].flat()
  return { ...page, headers: { ...headers, vary: 'accept-encoding', link: links.join(', ') } }
}

/** The name of the dashboard page at a path: the segment after `/dashboard`, or `overview`. */
function pageNameAt(path: string): string {
  return /^\/dashboard\/([\w-]+)/.exec(path)?.[1] ?? 'overview'
}

/**
 * The HTML page with preload headers, by the name of the view. Only for signed-in users, since the sign-in
 * page needs none of these files.
 */
function eagerPages(): ReadonlyMap<string, StaticFile> {
  const { headers, ...page } = dashboardPage()
  const preloads = preloadsByPage(built)
  return new Map(
    [...preloads].map(([name, link]) => [name, { ...page, headers: { ...headers, ...link } }]),
  )
}

/** The paths of dashboard pages, without the asset files; the script decides which pages exist. */
const dashboardPaths = /^\/dashboard(?:\/(?!assets\/).*)?$/
/** The paths of the dashboard's asset files. */
const dashboardFiles = /^\/dashboard\/assets\//

const notBuilt = `<!doctype html><html lang="en"><title>The dashboard is not built</title>
<h1>The dashboard is not built</h1>
<p>Run <code>npm ci</code> and <code>npm run build</code> where the gateway is installed, and start it again. All else
works without it: see the <a href="/openapi.yaml">contract of the API</a>.</p></html>
`

/** The asset files of the dashboard, by path, and the licences of the packages in them. */
function dashboardAssets(): Readonly<Record<string, StaticFile>> {
  const folder = fileURLToPath(new URL('assets/', built))
  if (!existsSync(folder)) return {}
  const licences = { type: 'text/plain; charset=utf-8', content: new URL('licences.txt', built) }
  const assets = Object.fromEntries(
    readdirSync(folder).flatMap((name) => {
      const type = types[extname(name)]
      if (type === undefined) return []
      const content = new URL(`assets/${name}`, built)
      return [[`/dashboard/assets/${name}`, { type, content, headers: assetHeaders }]]
    }),
  )
  return { ...assets, '/dashboard/licences': licences }
}

/** An entry of Vite's manifest, which lists the built files by source file. */
type ManifestEntry = { file: string; css?: string[]; imports?: string[] }
type Manifest = Readonly<Record<string, ManifestEntry>>

const source = /^src\/pages\/([\w-]+)\/index\.tsx$/

/**
 * The `Link` headers that preload the files of each dashboard page, by the first segment of its path. Empty
 * if the manifest of the build is missing.
 */
function preloadsByPage(built: URL): ReadonlyMap<string, { link: string }> {
  const manifestFile = new URL('manifest.json', built)
  if (!existsSync(manifestFile)) return new Map()
  // Vite writes the manifest in this form.
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8')) as Manifest
  const frame = readFileSync(new URL('index.html', built), 'utf8')
  return new Map(
    Object.keys(manifest).flatMap((name) => {
      const page = source.exec(name)?.[1]
      if (page === undefined) return []
      const files = [...filesOf(manifest, name)].filter((file) => !frame.includes(file))
      return [[page, { link: files.map(preloadOf).join(', ') }]]
    }),
  )
}

/** The files that a source file needs to run, its own included. */
function filesOf(manifest: Manifest, name: string, found = new Set<string>()): Set<string> {
  const { file, css = [], imports = [] } = manifest[name]!
  if (found.has(file)) return found
  for (const one of [file, ...css]) found.add(one)
  for (const one of imports) filesOf(manifest, one, found)
  return found
}

/** The same request mode as the script's own import, so that the file is loaded once. */
function preloadOf(file: string): string {
  const kind = file.endsWith('.css') ? 'preload; as=style; crossorigin' : 'modulepreload'
  return `</dashboard/${file}>; rel=${kind}`
}
