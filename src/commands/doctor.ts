import {
  loadConfig,
  workerCount,
  type Config,
  type Loaded,
  type ReadSettings,
  type Secrets,
  type Stored,
} from '../settings/config.ts'
import { withoutBounds } from '../settings/bounds.ts'
import { readProviderKeys } from '../accounts/provider-keys.ts'
import { readStoredSettings } from '../accounts/stored-settings.ts'
import { connectionText, examineConnection } from '../connect/connect.ts'
import { readTarget } from '../connect/target.ts'
import { isPublicAddress } from '../core/public-address.ts'
import {
  json,
  jsonText,
  parsed,
  text,
  UsageError,
  type Command,
  type CommandResult,
} from './command.ts'
import { modelsInUse } from '../accounts/usage/models-in-use.ts'
import { countActiveKeys } from '../accounts/key-list.ts'
import { configuredCatalog, configuredRows, readCatalogRows } from '../catalog/catalog.ts'
import { modelNotices } from '../catalog/model-notices.ts'
import { examineRedis } from '../peers/examine-redis.ts'
import type { EndpointConfig } from '../providers/create-providers.ts'
import { namePrefixes, vendors } from '../providers/index.ts'
import { endpointConnector } from '../pictures/guarded-fetch.ts'
import { connectTimeoutMs } from '../providers/transport/lines.ts'
import { testKey } from '../providers/key-test.ts'
import { createEncryption } from '../storage/encryption.ts'
import { NoStore } from '../storage/migrations.ts'
import { openPicturePlace } from '../storage/open-picture-place.ts'
import { openStore } from '../storage/open-store.ts'
import type { Store } from '../storage/store.ts'

/**
 * doctor: reports what is configured, reachable and missing. With `--connect`: reports what would break
 * clients that connect to an address (docs/connect.md#is-it-right).
 */
export const doctor: Command = async (words, { readVariables }) => {
  const { values } = parsed(words, { ...json, connect: text, key: text })
  const isJson = values.json === true
  if (values.connect !== undefined) {
    return examine(
      values.connect,
      values.key ?? (readVariables()['GATEWAY_KEY'] || undefined),
      isJson,
    )
  }
  if (values.key !== undefined) {
    throw new UsageError('--key requires --connect <address>.')
  }
  const { config, ...diagnosis } = await diagnose((stored) => loadConfig(readVariables(), stored))
  const report = isJson ? jsonText({ ...diagnosis, config }) : diagnosisText(diagnosis)
  return { text: report, failed: !diagnosis.healthy }
}

async function examine(
  address: string,
  key: string | undefined,
  isJson: boolean,
): Promise<CommandResult> {
  const target = readTarget(address)
  if (target === undefined) {
    throw new UsageError(
      '--connect must be the address for clients. For example: https://gateway.example/mcp',
    )
  }
  const found = await examineConnection({ target, key, now: Date.now, isPublic: isPublicAddress })
  return { text: isJson ? jsonText(found) : connectionText(found), failed: !found.healthy }
}

type Finding = { finding: string; healthy: boolean }

/** Checks the store and all configured providers; without secrets. Throws a ConfigError. */
async function diagnose(readSettings: ReadSettings) {
  const atStart = readSettings()
  const [{ stored, used = nothing, ...store }, redis, pictures] = await Promise.all([
    checkStore(atStart.config, atStart.secrets),
    checkRedis(atStart.config, atStart.secrets),
    checkPictures(atStart),
  ])
  const { config, secrets, doubts } = readSettings(stored)
  const { endpoints, baseUrl, uploadDir } = config
  const providers = await Promise.all(
    endpoints.map((endpoint) => probe(endpoint, config, secrets.providerKeys[endpoint.id] ?? [])),
  )
  return {
    healthy:
      store.healthy && redis.healthy && pictures.healthy && providers.every((one) => one.healthy),
    node: process.version,
    address: `http://${config.host}:${config.port}${baseUrl ? `, public address ${baseUrl}` : ''}`,
    store,
    workers: workersText(config),
    redis,
    ...catalogFacts(config, used),
    uploads: uploadDir ?? 'off (UPLOAD_DIR is not set)',
    pictures,
    providers,
    notConfigured: vendors
      .filter(({ id }) => !endpoints.some((endpoint) => endpoint.id === id))
      .map(({ id, keyVariables }) => ({ id, variables: keyVariables })),
    /** Warnings about the settings. */
    doubts: [...doubts, ...(stored?.notices ?? [])],
    config: { ...config, limits: withoutBounds(config.limits) },
  }
}

/** The diagnosis as text, with the variables of the vendors that are not configured. */
function diagnosisText(found: Omit<Awaited<ReturnType<typeof diagnose>>, 'config'>): string {
  const { providers, notConfigured, doubts } = found
  const lines = [
    `Node ${found.node}`,
    `Address   ${found.address}`,
    `Store     ${found.store.finding}`,
    `Workers   ${found.workers}`,
    `Redis     ${found.redis.finding}`,
    `Catalog   ${found.catalog}`,
    `Models    ${found.models.join('\n          ') || 'None in use retires or changes its price within 30 days.'}`,
    `Uploads   ${found.uploads}`,
    `Pictures  ${found.pictures.finding}`,
    '',
    ...(providers.length === 0
      ? ['No provider is configured: only test keys work. Set one of the variables below.']
      : providers.map((one) => `${one.id.padEnd(11)} ${one.baseUrl}  ${one.finding}`)),
    ...doubts,
    '',
    'Not configured:',
    ...notConfigured.map(({ id, variables }) => `  ${id.padEnd(11)} set ${variables.join(' or ')}`),
  ]
  return `${lines.join('\n')}\n`
}

function workersText(config: Config): string {
  const count = workerCount(config)
  if (count === 1) return '1 process (WORKERS is 1)'
  return `${count} processes, which share limits and cached answers through Redis`
}

async function checkRedis(config: Config, { redisUrl: url }: Secrets): Promise<Finding> {
  const { redisKeyPrefix: keyPrefix, limits } = config
  if (url === undefined) {
    return workerCount(config) === 1
      ? { finding: 'not used (REDIS_URL is not set)', healthy: true }
      : { finding: 'missing: several workers need it. Set REDIS_URL, or WORKERS=1', healthy: false }
  }
  return examineRedis({ url, keyPrefix, limits })
}

/** Writes to the bucket of pictures. The folder is not written, since it belongs to the store. */
async function checkPictures({ config, secrets }: Loaded): Promise<Finding> {
  const { limits, pictureBucket } = config
  const place = await openPicturePlace({ config, secrets })
  if (limits.pictureDays === 0 || place === undefined) {
    const reason = place === undefined ? 'PICTURE_BUCKET is not set' : 'picture_days is 0'
    return { finding: `no jobs (${reason})`, healthy: true }
  }
  const failure = pictureBucket && (await place.check().catch((error: Error) => error.message))
  await place.close()
  const finding = failure || `${place.name}, for ${limits.pictureDays} days`
  return { finding, healthy: !failure }
}

function catalogFacts(config: Config, used: Used) {
  const rows = readCatalogRows()
  const catalog = configuredCatalog({ ...config, rows, prefixes: namePrefixes, clock: Date.now })
  const own = Object.keys(config.catalog).length
  const entries = own === 0 ? '' : ` (${own} described in gateway.yaml)`
  const all = configuredRows({ ...config, rows, prefixes: namePrefixes }).rows.length
  return {
    catalog: `${all} models${entries}, auto is ${config.defaultImageModel}`,
    models: modelNotices(catalog, config, used, Date.now()).sentences,
  }
}

type StoreFinding = Finding & {
  stored?: Stored & { notices: readonly string[] }
  used?: Used
}
type Used = Awaited<ReturnType<typeof modelsInUse>>
const nothing: Used = { called: [], ofKeys: [] }

/** Checks the store, and reads its keys of providers. */
async function checkStore(config: Config, secrets: Secrets): Promise<StoreFinding> {
  const { dataDir } = config
  try {
    const limits = { ...config.limits, databaseStartWaitMs: 0 }
    const told: string[] = []
    const options = { ...config, limits, schemaChange: 'none' as const }
    const store = await openStore(options, secrets, (sentence) => void told.push(sentence))
    const active = await countActiveKeys(store, Date.now())
    const { content: settings } = await readStoredSettings(store)
    const encryption = createEncryption({ ...config, ...secrets })
    const { keys, notices } = await readProviderKeys(store, encryption)
    const used = await modelsInUse(store.reader, Date.now())
    const described = await store.describe()
    const archived = await lastArchived(store)
    await store.check()
    const trouble = await store.look().catch((error: Error) => error.message)
    await store.close()
    const more = [...told, ...(trouble ? [trouble] : [])]
    const finding = [`${described}, ${active} active keys${archived}`, ...more].join('; ')
    return { finding, healthy: trouble === undefined, stored: { keys, settings, notices }, used }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof NoStore) return { finding: reason, healthy: true }
    if (secrets.databaseUrl !== undefined) return { finding: reason, healthy: false }
    return { finding: `${dataDir} cannot be opened: ${reason}`, healthy: false }
  }
}

/** The last month whose calls were archived, as a part of a sentence. */
async function lastArchived({ db }: Store): Promise<string> {
  const months = db.selectFrom('usage_archives').select(({ fn }) => fn.max('month_at').as('at'))
  const { at } = await months.executeTakeFirstOrThrow()
  return at === null ? '' : `, calls archived up to ${new Date(at).toISOString().slice(0, 7)}`
}

/** Tests the first key of an endpoint. */
async function probe(endpoint: EndpointConfig, config: Config, [key]: readonly string[]) {
  const { id, baseUrl } = endpoint
  const connector = endpointConnector({ connectTimeoutMs }, () => config.privateEndpointNetworks)
  const { accepted, status, message } = await testKey(endpoint, key, connector)
  // Some endpoints have no list of models.
  const healthy = accepted || status === 404 || status === 405 || status === 429
  return { id, baseUrl, finding: message, healthy }
}
