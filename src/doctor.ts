import { existsSync } from 'node:fs'
import { createAccounts } from './accounts/accounts.ts'
import { readCatalogRows } from './catalog/catalog.ts'
import type { Config } from './config.ts'
import { ProviderFailure } from './core/failure.ts'
import type { EndpointConfig } from './providers/index.ts'
import { createDispatch } from './providers/transport/dispatch.ts'
import { receive } from './providers/transport/upstream.ts'
import { wholeReader } from './providers/transport/whole-answer.ts'
import { vendors } from './providers/vendors.ts'
import { openStore } from './storage/store.ts'

const probeTimeoutMs = 5000
const probeBytesMax = 8 * 1024 * 1024

/** Looks at everything that calls depend on, and says what to do about what is missing. */
export async function diagnose(config: Config): Promise<{ text: string; healthy: boolean }> {
  const store = await checkStore(config)
  const probes = await Promise.all(config.endpoints.map(probe))
  const lines = [
    `Node ${process.version}`,
    `Address   http://${config.host}:${config.port}${config.baseUrl ? `, known as ${config.baseUrl}` : ''}`,
    store.line,
    `Catalog   ${readCatalogRows().length} models, auto is ${config.defaultImageModel}`,
    config.uploadDir === undefined
      ? 'Uploads   off (UPLOAD_DIR is not set)'
      : `Uploads   ${config.uploadDir}`,
    '',
    ...(probes.length === 0
      ? ['No provider is configured: only test keys work. Set one of the variables below.']
      : probes.map(({ line }) => line)),
    '',
    'Not configured:',
    ...vendors
      .filter(({ id }) => !config.endpoints.some((endpoint) => endpoint.id === id))
      .map(({ id, keyVariables }) => `  ${id.padEnd(11)} set ${keyVariables.join(' or ')}`),
  ]
  const healthy = store.healthy && probes.every((one) => one.healthy)
  return { text: `${lines.join('\n')}\n`, healthy }
}

async function checkStore(config: Config): Promise<{ line: string; healthy: boolean }> {
  if (!existsSync(config.dataDir)) {
    return {
      line: `Store     ${config.dataDir} does not exist yet: the first start creates it`,
      healthy: true,
    }
  }
  try {
    const store = await openStore(config)
    const keys = await createAccounts(store, Date.now).listKeys()
    await store.close()
    const active = keys.filter(({ revoked_at: revokedAt }) => revokedAt === null).length
    return { line: `Store     ${config.dataDir}, ${active} active keys`, healthy: true }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { line: `Store     ${config.dataDir} cannot be opened: ${reason}`, healthy: false }
  }
}

/** Asks an endpoint for its models, which costs nothing. */
async function probe({
  id,
  baseUrl,
  keys,
}: EndpointConfig): Promise<{ line: string; healthy: boolean }> {
  const name = `${id.padEnd(11)} ${baseUrl}`
  const limits = { connectTimeoutMs: probeTimeoutMs, connectionsMax: 1 }
  const { dispatch, close } = createDispatch(baseUrl, limits)
  const { modelsPath = '/models', keyHeader } = vendors.find((vendor) => vendor.id === id) ?? {}
  const [key] = keys
  const headers: Record<string, string> =
    key === undefined ? {} : keyHeader ? { [keyHeader]: key } : { authorization: `Bearer ${key}` }
  try {
    const status = await receive(
      {
        dispatch,
        request: {
          method: 'GET',
          path: modelsPath,
          headers,
          headersTimeoutMs: probeTimeoutMs,
          idleTimeoutMs: probeTimeoutMs,
        },
        signal: AbortSignal.timeout(probeTimeoutMs),
        bytesMax: probeBytesMax,
      },
      (head) => ({ push: wholeReader().push, finish: () => head.status }),
    )
    if (status === 401 || status === 403) {
      return { line: `${name}  refuses the key (${status})`, healthy: false }
    }
    return { line: `${name}  reachable (${status}), ${keys.length} key(s)`, healthy: status < 500 }
  } catch (error) {
    const reason = error instanceof ProviderFailure ? error.kind : 'unreachable'
    return { line: `${name}  ${reason}`, healthy: false }
  } finally {
    await close()
  }
}
