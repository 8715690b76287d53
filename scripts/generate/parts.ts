import type { Document } from './document.ts'

type Section = Record<string, unknown>
type Link = { operationId: string }
type Whole = Document & {
  tags: { name: string }[]
  'x-tagGroups': { name: string; tags: string[] }[]
  webhooks: Document['paths']
}

/** The parts of the contract: the paths and the webhooks of each. */
const selections: Readonly<Record<string, { paths: RegExp; webhooks: RegExp }>> = {
  v1: { paths: /^\/v1\//, webhooks: /^(?:image|response)\./ },
  images: { paths: /^\/v1\/images\//, webhooks: /^image\./ },
  oauth: { paths: /^\/(?:oauth|\.well-known)\//, webhooks: /^$/ },
  mcp: { paths: /^\/mcp$/, webhooks: /^$/ },
  api: { paths: /^\/api\//, webhooks: /./ },
}

/** The names of the parts. */
export const partNames = Object.keys(selections)

/** A part of the contract, with all that it refers to and nothing else. */
export function partOf(document: Document, name: string): Document {
  const whole = document as Whole
  const { paths: pathPattern, webhooks: webhookPattern } = selections[name]!
  const webhooks = selected(whole.webhooks, (type) => webhookPattern.test(type))
  const all = selected(whole.paths, (path) => pathPattern.test(path))
  const ids = new Set(
    Object.values(all).flatMap((item) => Object.values(item).map((one) => one.operationId)),
  )
  // The cast is safe, since only links are removed.
  const paths = withoutLinks(all, ids) as Document['paths']
  const items = [...Object.values(paths), ...Object.values(webhooks)]
  const operations = items.flatMap((item) => Object.values(item))
  const used = new Set(operations.flatMap(({ tags = [] }) => tags))
  const schemes = [whole, ...operations].flatMap(({ security = [] }) =>
    security.flatMap(Object.keys),
  )
  const components = withoutLinks(whole.components, ids) as Document['components']
  const groups = whole['x-tagGroups'].map((group) => ({
    ...group,
    tags: group.tags.filter((tag) => used.has(tag)),
  }))
  const part: Whole = {
    ...whole,
    tags: whole.tags.filter((tag) => used.has(tag.name)),
    'x-tagGroups': groups.filter(({ tags }) => tags.length > 0),
    paths,
    webhooks,
    components: usedComponents([paths, webhooks], components, schemes),
  }
  return part
}

/** The components to which the value refers, directly or not, and the security schemes. */
function usedComponents(
  value: unknown,
  all: Document['components'],
  schemes: string[],
): Document['components'] {
  const used = new Set(schemes.map((name) => `securitySchemes/${name}`))
  const visit = (part: unknown): void => {
    // References are members named `$ref` and the values of a discriminator's `mapping`.
    for (const [, reference = ''] of JSON.stringify(part).matchAll(/"#\/components\/([^"]+)"/g)) {
      const [kind = '', name = ''] = reference.split('/')
      if (used.has(`${kind}/${name}`)) continue
      used.add(`${kind}/${name}`)
      visit((all as Record<string, Section>)[kind]![name])
    }
  }
  visit(value)
  const kinds = Object.entries(all).map(([kind, section]: [string, Section]) => [
    kind,
    selected(section, (name) => used.has(`${kind}/${name}`)),
  ])
  const kept = kinds.filter(([, section]) => Object.keys(section!).length > 0)
  return Object.fromEntries(kept) as Document['components']
}

/** The value without the links to operations that the part does not have. */
function withoutLinks(value: unknown, ids: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutLinks(one, ids))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    if (name !== 'links' || !isLinks(inner)) return [[name, withoutLinks(inner, ids)] as const]
    const links = selected(inner, (_, { operationId }) => ids.has(operationId))
    return Object.keys(links).length === 0 ? [] : [[name, links] as const]
  })
  return Object.fromEntries(entries)
}

/** Whether the value is the links of a response, and not a property of this name. */
function isLinks(value: unknown): value is Record<string, Link> {
  return Object.values(Object(value)).every((link) => 'operationId' in Object(link))
}

function selected<T>(
  members: Record<string, T>,
  keeps: (name: string, value: T) => boolean,
): Record<string, T> {
  return Object.fromEntries(Object.entries(members).filter(([name, value]) => keeps(name, value)))
}
