import type { components } from '../../generated/types.ts'
import { uncounted } from '../bytes/memory-budget.ts'
import { GatewayError } from '../core/error.ts'
import { ProviderFailure } from '../core/failure.ts'
import type { EndpointConfig } from './create-providers.ts'
import { vendorOf } from './index.ts'
import { modelsRequest, openAiNames } from './list-models.ts'
import { complaintOf } from './openai-compatible/complaint.ts'
import { createDispatch, type Connector } from './transport/dispatch.ts'
import type { Complaint } from './transport/complaint.ts'
import { createKeyRing } from './transport/key-ring.ts'
import { connectTimeoutMs, credentialsOf } from './transport/lines.ts'
import { parseJson, receive, wholeReader } from './transport/upstream.ts'
import { createVendorTexts } from './transport/vendor-texts.ts'
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
      wholeReader((bytes) => result({ id, status, body: bytes, key })),
    )
  } catch (error) {
    const cause = error instanceof ProviderFailure ? error.kind : 'unreachable'
    const what = cause === 'timeout' ? `did not answer within ${timeoutMs / 1000} s` : causes[cause]
    const message = `${name} ${what ?? `could not be tested (${cause})`} at ${new URL(baseUrl).host}.`
    const rejected = cause === 'credentials'
    return { object: 'provider_key_test', accepted: false, rejected, status: null, message }
  } finally {
    await pool.close()
  }
}

/**
 * Tests a key before it is stored. Throws `provider_key_rejected` for a key that the provider rejects, unless
 * it is stored by `force`. A provider that does not answer must not prevent the change of its keys.
 */
export async function testNewKey(
  endpoint: Parameters<typeof testKey>[0],
  key: string,
  guardedConnector: Connector,
  force = false,
): Promise<KeyTest> {
  const test = await testKey(endpoint, key, guardedConnector)
  if (!test.rejected || force) return test
  const text = `${test.message} The key was not stored. Check that all of it was copied; 'force' stores it anyway.`
  throw new GatewayError('provider_key_rejected', text, { param: 'key' })
}

const causes: Readonly<Record<string, string>> = {
  unreachable: 'could not be reached',
  malformed: 'sent an invalid response',
  credentials: 'rejects the key',
}

type Answered = { id: string; status: number; body: Buffer; key: string | undefined }

function result({ id, status, body, key }: Answered): KeyTest {
  const vendor = vendorOf(id)
  const name = vendor?.name ?? id
  const object = 'provider_key_test'
  if (status === 200) {
    const list = () => (vendor?.modelNames ?? openAiNames)(parseJson(body) as object)
    const models =
      vendor?.listsModels === false ? '' : ` and lists ${counted(list().length, 'model')}`
    const message = `${name} accepts the key${models}.`
    return { object, accepted: true, rejected: false, status, message }
  }
  const { code, message } = complaintIn(body)
  const words = createVendorTexts(key === undefined ? [] : [key]).words(message)
  const mark = vendor?.badKeyMark
  const isBad = code === 'invalid_api_key' || (mark !== undefined && body.includes(mark))
  const isRefused = status === 401 || status === 403 || (status === 400 && isBad)
  const rejected = isRefused && !lacksScope.test(words)
  const what = rejected
    ? `rejects the key (HTTP ${status})`
    : `answered HTTP ${status}, so the key could not be tested`
  const end = words === '' ? '.' : `: ${words}${/[.!?]$/.test(words) ? '' : '.'}`
  return { object, accepted: false, rejected, status, message: `${name} ${what}${end}` }
}

/** OpenAI's error for a key with restricted permissions, which may be able to call models but not to list them. */
const lacksScope = /missing scopes/i

function complaintIn(body: Buffer): Complaint {
  try {
    return complaintOf(parseJson(body))
  } catch {
    return { message: body.toString() }
  }
}
