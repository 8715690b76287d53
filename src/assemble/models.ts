import { configuredCatalog, configuredRows, readCatalogRows } from '../catalog/catalog.ts'
import { createParameters } from '../catalog/model-parameters.ts'
import { createRouteTable } from '../catalog/routes.ts'
import { createVendorModels } from '../catalog/vendor-models.ts'
import type { Config, Secrets } from '../config.ts'
import type { Provider } from '../core/route.ts'
import { checkNamedPicture as checkPicture } from '../pictures/check-picture.ts'
import { createReadSources } from '../pictures/read-source.ts'
import { createProviders, writeChatOf } from '../providers/create-providers.ts'
import { imageConfigOf, namePrefixes, settingFor } from '../providers/index.ts'
import type { Lasting } from './lasting.ts'

type Options = {
  config: Config
  secrets: Secrets
  clock: () => number
  monotonic: () => number
  lasting: Pick<Lasting, 'guarded' | 'darkroom' | 'lines'>
}

/** What `assembleModels` builds. */
export type Models = ReturnType<typeof assembleModels>

/** The catalog, the providers, the routes between them, and what reads pictures. */
export function assembleModels({ config, secrets, clock, monotonic, lasting }: Options) {
  const { limits, endpoints } = config
  const listed = readCatalogRows()
  const prefixes = namePrefixes
  const catalog = configuredCatalog({ ...config, rows: listed, prefixes, clock })
  const { rows } = configuredRows({ ...config, rows: listed, prefixes })
  const { guarded, darkroom, lines } = lasting
  const readSources = createReadSources(guarded)
  const routesMax = Math.max(1, ...Object.values(config.routes).map((routes) => routes.length))
  const providers = createProviders({
    endpoints,
    keys: secrets.providerKeys,
    limits,
    darkroom,
    sandboxRoutesMax: routesMax,
    fetchPublic: guarded.fetch,
    readSources,
    clock,
    lines,
  })
  const vendorModels = createVendorModels({
    lists: listsOf(providers.configured),
    prefixes,
    limits,
    monotonic,
  })
  const routes = createRouteTable({
    catalog,
    vendorModels,
    providers: providers.configured,
    sandbox: providers.sandbox,
    routes: config.routes,
    settingFor,
  })
  const parametersOf = createParameters({ imageConfigOf, writeChat: writeChatOf })
  const described = { rows, catalog, parametersOf }
  return { ...described, vendorModels, providers, routes, readSources, checkPicture }
}

type ListModels = NonNullable<Provider['listModels']>

/** The vendors' own lists of models. */
function listsOf(providers: ReadonlyMap<string, Provider>): Map<string, ListModels> {
  const lists = [...providers].flatMap(([id, { listModels }]) =>
    listModels === undefined ? [] : [[id, listModels] as const],
  )
  return new Map(lists)
}
