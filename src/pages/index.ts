import { readFile } from 'node:fs/promises'
import type { Router } from '@koa/router'
import type { ExchangeState } from '../http/exchange.ts'
import { referencePage } from './api-reference.ts'
import { metricsPage, type ReadMetrics } from './metrics.ts'

type Options = {
  readMetrics: ReadMetrics
  metricsToken: string | undefined
  /** Rejects while the gateway cannot answer calls. */
  checkReady: () => Promise<void>
}

const contract = new URL('../../generated/openapi.json', import.meta.url)

/** Adds the routes outside of the contract: health, metrics, the contract and its reference. */
export function bindPages(router: Router<ExchangeState>, options: Options): void {
  router.get('/health', ({ state }) => {
    state.answer = { status: 200, json: { status: 'ok' } }
  })
  router.get('/ready', async ({ state }) => {
    await options.checkReady()
    state.answer = { status: 200, json: { status: 'ready' } }
  })
  router.get('/openapi.json', async ({ state }) => {
    const headers = { 'content-type': 'application/json', 'access-control-allow-origin': '*' }
    state.answer = { status: 200, headers, pieces: [await readFile(contract)] }
  })
  router.get('/metrics', async ({ req, state }) => {
    state.answer = await metricsPage(req, options)
  })
  router.get('/', ({ state }) => {
    state.answer = { status: 302, headers: { location: '/docs' }, pieces: [] }
  })
  router.get('/docs{/:file}', async ({ state, params }) => {
    state.answer = await referencePage(params['file'])
  })
}
