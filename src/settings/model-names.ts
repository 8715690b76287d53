import { configuredCatalog, readCatalogRows } from '../catalog/catalog.ts'
import { nearModel } from '../catalog/names.ts'
import { makesImages } from '../core/model.ts'
import { nearName } from '../core/words/near-name.ts'
import { namePrefixes as prefixes, vendors } from '../providers/index.ts'
import type { NameOf } from './sources.ts'

type Names = Omit<Parameters<typeof configuredCatalog>[0], 'rows' | 'prefixes' | 'clock'> & {
  defaultToolImageModel: string
  routes: Readonly<Record<string, readonly string[]>>
}

/** The settings that name models. */
export const modelSettings: ReadonlySet<string> = new Set([
  'aliases',
  'catalog',
  'default_image_model',
  'default_tool_image_model',
  'routes',
])

/**
 * A warning for each alias, route and default model with a name that the catalog does not have, or that no
 * provider has, and for a default image model that makes no pictures.
 */
export function doubtsAboutModels(config: Names, nameOf: NameOf): string[] {
  const { aliases, routes, endpoints } = config
  const rows = readCatalogRows()
  const catalog = configuredCatalog({ ...config, rows, prefixes, clock: Date.now })
  const { models } = catalog.list({ includeDeactivated: true }, () => true)
  const providerIds = [...vendors, ...endpoints].map(({ id }) => id)

  const doubtsAboutModel = (name: string, ...path: string[]): string[] => {
    if (catalog.get(name) !== undefined) return []
    const near = nearModel(name, models)
    const remedy =
      near === undefined ? 'Calls fail unless a provider lists it.' : `Did you mean '${near}'?`
    return [`${nameOf(...path)}: the catalog has no model '${name}'. ${remedy}`]
  }
  const doubtsAboutDefault = (name: string, setting: string): string[] => {
    const model = catalog.get(aliases[name] ?? name)
    if (model === undefined || makesImages(model))
      return doubtsAboutModel(aliases[name] ?? name, setting)
    return [`${nameOf(setting)}: ${name} makes no pictures. Choose an image model.`]
  }
  const doubtsAboutRoute = (route: string, ...path: string[]): string[] => {
    const [id = ''] = route.split('/')
    if (providerIds.includes(id)) return []
    const near = nearName(id, providerIds)
    const remedy =
      near === undefined
        ? `It must be one of: ${providerIds.join(', ')}.`
        : `Did you mean '${near}'?`
    return [`${nameOf(...path)}: there is no provider '${id}'. ${remedy}`]
  }
  return [
    ...doubtsAboutDefault(config.defaultImageModel, 'default_image_model'),
    ...doubtsAboutDefault(config.defaultToolImageModel, 'default_tool_image_model'),
    ...Object.entries(aliases).flatMap(([alias, name]) => doubtsAboutModel(name, 'aliases', alias)),
    ...Object.entries(routes).flatMap(([name, list]) => [
      ...doubtsAboutModel(aliases[name] ?? name, 'routes', name),
      ...list.flatMap((route, index) => doubtsAboutRoute(route, 'routes', name, String(index))),
    ]),
  ]
}
