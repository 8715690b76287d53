import type { components } from '../../generated/types.ts'
import { uncounted } from '../bytes/memory-budget.ts'
import { ProviderFailure } from '../core/failure.ts'
import type { EndpointConfig } from './create-providers.ts'
import { vendorOf } from './index.ts'
import { modelsRequest, openAiNames } from './list-models.ts'
import { createDispatch, type Connector } from './transport/dispatch.ts'
import { createKeyRing } from './transport/key-ring.ts'
import { connectTimeoutMs, credentialsOf } from './transport/lines.ts'
import { parseJson, receive, wholeReader } from './transport/upstream.ts'
import { counted } from '../core/words/counted.ts'

type KeyTest = components['schemas']['ProviderKeyTest']

const timeoutMs = 5000
/** Above the largest list of any vendor. */
const bytesMax = 8 * 1024 * 1024

/** Tests a key with the provider's list of models, which is free of charge; undefined tests without a key. */
export async function testKey(
  { id, baseUrl, isGuarded }: Pick<EndpointConfig, 'id' | 'baseUrl' | 'isGuarded'>,
  key: string | undefined,
  guardedConnector: Connector,
): Promise<KeyTest> {
  const vendor = vendorOf(id)
  const connector = isGuarded === true ? guardedConnector : undefined
  // A proxy in place of the vendor has the path of the test too.
  const tested = baseUrl === vendor?.baseUrl ? (vendor.modelsOrigin ?? baseUrl) : baseUrl
  const pool = createDispatch(tested, { connectTimeoutMs, connectionsMax: 1, connector })
  const { dispatch } = createKeyRing({
    dispatch: pool.dispatch,
    credentials: credentialsOf({
      keys: key === undefined ? [] : [key],
      keyHeader: vendor?.keyHeader,
      keyScheme: vendor?.keyScheme,
      tokenScope: vendor?.tokenScope,
      clock: Date.now,
      monotonic: () => performance.now(),
      connector: guardedConnector,
      onToken: () => undefined,
    }),
    restMs: 0,
    restMaxMs: 0,
    monotonic: () => performance.now(),
  })
  const request = modelsRequest(vendor ?? {}, timeoutMs)
  const signal = AbortSignal.timeout(timeoutMs)
  const name = vendor?.name ?? id
  try {
    const turn = { signal, memory: uncounted }
    return await receive({ dispatch, request, bytesMax }, turn, ({ status }) =>
      wholeReader((bytes) => ({ ...result(id, status, bytes), status })),
    )
  } catch (error) {
    const cause = error instanceof ProviderFailure ? error.kind : 'unreachable'
    const what = cause === 'timeout' ? `did not answer within ${timeoutMs / 1000} s` : causes[cause]
    const message = `${name} ${what ?? `could not be tested (${cause})`} at ${new URL(baseUrl).host}.`
    return { object: 'provider_key_test', accepted: false, status: null, message }
  } finally {
    await pool.close()
  }
}

const causes: Readonly<Record<string, string>> = {
  unreachable: 'could not be reached',
  malformed: 'sent an invalid response',
  credentials: 'rejects the key',
}

function result(id: string, status: number, body: Buffer): Omit<KeyTest, 'status'> {
  const vendor = vendorOf(id)
  const name = vendor?.name ?? id
  const found = (accepted: boolean, text: string) =>
    ({ object: 'provider_key_test', accepted, message: `${name} ${text}.` }) as const
  if (status === 200 && vendor?.listsModels === false) return found(true, 'accepts the key')
  if (status === 200) {
    const count = (vendor?.modelNames ?? openAiNames)(parseJson(body) as object).length
    return found(true, `accepts the key and lists ${counted(count, 'model')}`)
  }
  const isBad =
    status === 400 && vendor?.badKeyMark !== undefined && body.includes(vendor.badKeyMark)
  if (isBad || status === 401 || status === 403)
    return found(false, `rejects the key (HTTP ${status})`)
  if (status === 429)
    return found(false, 'limits requests at the moment (HTTP 429). Test the key again later')
  return found(false, `answered HTTP ${status}, so the key could not be tested`)
}
