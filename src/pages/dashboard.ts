import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GatewayError } from '../core/error.ts'
import type { StaticFile } from './static-file.ts'

const built = new URL('../../dashboard/dist/', import.meta.url)

const pageHeaders = {
  vary: 'accept-encoding, cookie',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self' data: blob:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
/** Their names change with what they hold. */
const assetHeaders = {
  'cache-control': 'public, max-age=31536000, immutable',
  'cross-origin-resource-policy': 'same-origin',
}

/** The page where one-time links lead: nothing keeps it, and no other address is told of it. */
const linkHeaders = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

/** The page of the dashboard for one-time links, by path; what the links carry is the script's alone. */
export function oneTimeLinkPages(): Readonly<Record<string, StaticFile>> {
  const { headers, ...page } = dashboardPage()
  const linked = { ...page, headers: { ...headers, ...linkHeaders } }
  const paths = ['setup', 'invitations', 'password']
  return Object.fromEntries(paths.map((path) => [`/dashboard/${path}`, linked]))
}

/** The page of the dashboard, for every address below `/dashboard`; its script shows what it names. */
export function dashboardPage(): StaticFile {
  return {
    type: 'text/html; charset=utf-8',
    content: existsSync(built) ? new URL('index.html', built) : notBuilt,
    headers: pageHeaders,
  }
}

/** Which of its pages is at a path: the part behind `/dashboard`, or the first one. */
export function pageNameAt(path: string): string {
  return /^\/dashboard\/([\w-]+)/.exec(path)?.[1] ?? 'overview'
}

/**
 * The same page with its files to load at once, by the name of what is shown; for who may be signed in,
 * since the entrance needs none of them.
 */
export function eagerPages(): ReadonlyMap<string, StaticFile> {
  const { headers, ...page } = dashboardPage()
  const preloads = preloadsByPage(built)
  return new Map(
    [...preloads].map(([name, link]) => [name, { ...page, headers: { ...headers, ...link } }]),
  )
}

/**
 * The addresses of its pages: the script says which of them there are. What names a file that is not there
 * is an address of none.
 */
export const dashboardPaths = /^\/dashboard(?:\/(?!assets\/).*)?$/
/** Where its files are. */
export const dashboardFiles = /^\/dashboard\/assets\//

/** For a file that is not there: a page that was loaded before an update asks for those of its version. */
export function otherVersion(): GatewayError {
  const text = 'This file is of another version of the dashboard. Reload the page.'
  return new GatewayError('not_found', text)
}

const notBuilt = `<!doctype html><html lang="en"><title>The dashboard is not built</title>
<h1>The dashboard is not built</h1>
<p>Run <code>npm ci</code> and <code>npm run build</code> where the gateway is installed, and start it again. All else
works without it: see the <a href="/docs">API reference</a>.</p></html>
`

/** The files that the page loads, by path, and the notices of those whose work is in them. */
export function dashboardAssets(): Readonly<Record<string, StaticFile>> {
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

/** What Vite tells of a file that it has made, by the source that it is of. */
type Made = { file: string; css?: string[]; imports?: string[] }
type Manifest = Readonly<Record<string, Made>>

const source = /^src\/pages\/([\w-]+)\/index\.tsx$/

/**
 * The headers by which a browser loads the files of a page of the dashboard together with its frame, by the first part
 * of the page's path. None where the manifest of the build is not there.
 */
function preloadsByPage(built: URL): ReadonlyMap<string, { link: string }> {
  const manifestFile = new URL('manifest.json', built)
  if (!existsSync(manifestFile)) return new Map()
  // Written by Vite.
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

/** What has to be there before a file can run, itself included. */
function filesOf(manifest: Manifest, name: string, found = new Set<string>()): Set<string> {
  const { file, css = [], imports = [] } = manifest[name]!
  if (found.has(file)) return found
  for (const one of [file, ...css]) found.add(one)
  for (const one of imports) filesOf(manifest, one, found)
  return found
}

/** As the script itself asks for it, so that it is loaded once. */
function preloadOf(file: string): string {
  const kind = file.endsWith('.css') ? 'preload; as=style; crossorigin' : 'modulepreload'
  return `</dashboard/${file}>; rel=${kind}`
}
