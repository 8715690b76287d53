import type { IncomingMessage } from 'node:http'
import type { Router } from '@koa/router'
import type { ExchangeState } from '../http/exchange.ts'
import type { PublicOrigin } from '../http/public-origin.ts'
import { bindDashboard } from './dashboard.ts'
import { bindDocuments, serviceLinks } from './documents.ts'
import { metricsPage, shareReadings, type ReadMetrics } from './metrics.ts'
import { bindFile, type StaticFile } from './static-file.ts'

type Options = {
  readMetrics: ReadMetrics
  metricsToken: () => string | undefined
  /** Rejects while the gateway cannot answer calls. */
  checkReady: () => Promise<void>
  /** The number of open circuits of each configured provider. */
  openCircuits: () => ReadonlyMap<string, number>
  publicOrigin: PublicOrigin
}

const files: Readonly<Record<string, StaticFile>> = {
  // Browsers request this path also for responses that name no icon.
  '/favicon.ico': { type: 'image/svg+xml', content: new URL('logo.svg', import.meta.url) },
  '/robots.txt': { type: 'text/plain; charset=utf-8', content: 'User-agent: *\nDisallow: /\n' },
}
/** Headers of the gateway's state, which is never cached. */
const now = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/** Adds the routes outside of the contract: health, metrics, the contract and its reference. */
export function bindPages(router: Router<ExchangeState>, options: Options): void {
  const readMetrics = shareReadings(options.readMetrics)
  router.get('/health', ({ state }) => {
    state.answer = { status: 200, headers: now, json: { status: 'ok' } }
  })
  router.get('/ready', async ({ state }) => {
    await options.checkReady()
    const open = [...options.openCircuits().values()]
    const paused = open.filter((circuits) => circuits > 0).length
    const json = { status: 'ready', providers: { configured: open.length, paused } }
    state.answer = { status: 200, headers: now, json }
  })
  router.get('/metrics', async ({ req, state }) => {
    state.answer = await metricsPage(req, { ...options, readMetrics })
  })
  router.get('/', ({ req, state }) => {
    const location = showsPages(req) ? '/dashboard' : '/docs'
    state.answer = {
      status: 302,
      headers: { location, vary: 'accept', link: serviceLinks },
      pieces: [],
    }
  })
  for (const [path, file] of Object.entries(files)) bindFile(router, path, file)
  bindDocuments(router, options.publicOrigin)
  bindDashboard(router)
}

/** Whether the client asks for HTML by name, as browsers do; other programs accept any type. */
function showsPages({ headers: { accept = '' } }: IncomingMessage): boolean {
  return /(?:^|[\s,])text\/html(?:[\s;,]|$)/i.test(accept)
}
