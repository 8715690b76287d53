/** Facts of an OpenAPI document that `contract-changes.ts` compares. */

export type Members = Readonly<Record<string, unknown>>
export type Side = 'request' | 'answer'
export type Fact = {
  /** The key of what contains it. */
  within?: string | undefined
  required: boolean
  types?: string[]
  values?: string[]
  /** Whether the values are open, as in `anyOf` of an enumeration and any string. */
  open?: boolean
  /** Whether an object has no other members. */
  closed?: boolean
  /** Whether it is one form of a union. */
  alternative?: boolean
  bounds: Members
}

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options']
export const lowest = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const highest = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
export const forms = ['format', 'pattern', 'multipleOf', 'uniqueItems']

export const members = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {}
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

function valuesOf(schema: Members): string[] | undefined {
  if ('const' in schema) return [JSON.stringify(schema['const'])]
  return schema['enum'] === undefined
    ? undefined
    : list(schema['enum']).map((value) => JSON.stringify(value))
}

/** The constants among the members of an object, by which it differs from other alternatives. */
function tagsOf(schema: Members): string[] | undefined {
  const values = Object.values(members(schema['properties'])).map((one) => valuesOf(members(one)))
  const tags = values.flatMap((one) => (one?.length === 1 ? one.map((tag) => JSON.parse(tag)) : []))
  return tags.length === 0 ? undefined : tags.map(String)
}

const scalar = (schema: Members) =>
  [schema['type'] ?? 'object'].flat().every((type) => type !== 'object' && type !== 'array')

const typesOf = (schema: Members) => [schema['type'] ?? []].flat() as string[]

/** Adds the values and the bounds of a schema. */
function readScalar(fact: Fact, schema: Members): void {
  fact.values ??= valuesOf(schema)
  const names = [...lowest, ...highest, ...forms].filter((name) => name in schema)
  fact.bounds = {
    ...fact.bounds,
    ...Object.fromEntries(names.map((name) => [name, schema[name]])),
  }
}

/** The name of a parameter; capitals mean nothing in that of a header. */
function nameOf({ in: part, name }: Members): string {
  return part === 'header' ? String(name).toLowerCase() : String(name)
}

/** Facts of a contract by side and place; a schema of the components is read once for each side that reaches it. */
export class ContractFacts {
  readonly facts = new Map<string, Fact>()
  readonly #document: Members

  constructor(document: Members) {
    this.#document = document
    const read = Object.entries(members(document['paths']))
    for (const [path, item] of read) this.#readPath(path, members(item))
    for (const [name, item] of Object.entries(members(document['webhooks']))) {
      const { content } = this.#target(members(members(item)['post'])['requestBody'])
      const key = `answer webhook ${name}`
      this.facts.set(key, { required: false, bounds: {} })
      // The gateway sends it, as it sends an answer.
      this.#readContent('answer', `webhook ${name}`, content, key)
    }
  }

  #target(value: unknown): Members {
    const at = members(value)
    if (typeof at['$ref'] !== 'string') return at
    const parts = at['$ref'].slice(2).split('/')
    return this.#target(
      parts.reduce<unknown>(
        (node, part) => members(node)[part.replaceAll('~1', '/').replaceAll('~0', '~')],
        this.#document,
      ),
    )
  }

  #readSchema(side: Side, place: string, value: unknown, within?: string, required = false): void {
    const schema = members(value)
    const key = `${side} ${place}`
    const fact = this.facts.get(key) ?? { within, required, bounds: {} }
    const seen = this.facts.has(key)
    this.facts.set(key, fact)
    if (typeof schema['$ref'] === 'string') {
      const name = schema['$ref'].split('/').at(-1) ?? ''
      const referred = this.#target(schema)
      // A scalar is read where it is used, so that one moved to the components is no change.
      if (scalar(referred)) return this.#readSchema(side, place, referred, within, required)
      fact.types = [...(fact.types ?? []), name]
      if (!this.facts.has(`${side} ${name}`)) this.#readSchema(side, name, referred)
      return
    }
    const types = typesOf(schema)
    if (types.length > 0 && !(seen && fact.types !== undefined)) fact.types = types
    readScalar(fact, schema)
    if (schema['additionalProperties'] === false) fact.closed = true
    for (const [name, property] of Object.entries(members(schema['properties'])))
      this.#readSchema(
        side,
        `${place}.${name}`,
        property,
        key,
        list(schema['required']).includes(name),
      )
    if (schema['items'] !== undefined) this.#readSchema(side, `${place}[]`, schema['items'], key)
    if (typeof schema['additionalProperties'] === 'object')
      this.#readSchema(side, `${place}.*`, schema['additionalProperties'], key)
    for (const part of list(schema['allOf'])) this.#readSchema(side, place, part, within)
    this.#readAlternatives(side, place, fact, [...list(schema['anyOf']), ...list(schema['oneOf'])])
  }

  #readAlternatives(side: Side, place: string, fact: Fact, all: unknown[]): void {
    const resolved = all.map((one) => this.#target(one))
    const others = resolved.filter((one) => one['type'] !== 'null')
    const named = others.find((one) => valuesOf(one) !== undefined)
    const open = others.some((one) => one['type'] === 'string' && valuesOf(one) === undefined)
    if (named !== undefined && open && named['type'] === 'string') {
      fact.values = resolved.flatMap((one) => valuesOf(one) ?? [])
      fact.open = true
    }
    const isOneScalar = others.length === 1 && scalar(others[0]!)
    const addTypes = (one: Members) => {
      fact.types = [...new Set([...(fact.types ?? []), ...typesOf(one)])]
    }
    if (fact.open === true || isOneScalar) {
      // The same as one schema with a list of types.
      others.filter(scalar).forEach(addTypes)
      if (others.length < resolved.length) addTypes({ type: 'null' })
      if (isOneScalar) readScalar(fact, others[0]!)
    }
    const counts = new Map<string, number>()
    all.forEach((one, index) => {
      const schema = resolved[index]!
      const isRead = (fact.open === true && scalar(schema)) || isOneScalar
      if (isRead) return
      if (typeof members(one)['$ref'] === 'string')
        return this.#readSchema(side, place, one, fact.within)
      addTypes(schema)
      // Alternatives are compared by what they are, since their order means nothing.
      const { title } = schema
      const told = valuesOf(schema) ?? tagsOf(schema) ?? typesOf(schema)
      const label = typeof title === 'string' ? title : told.join()
      counts.set(label, (counts.get(label) ?? 0) + 1)
      const count = counts.get(label) === 1 ? '' : ` ${counts.get(label)}`
      const within = `${side} ${place}`
      this.#readSchema(side, `${place}|${label}${count}`, schema, within)
      this.facts.get(`${within}|${label}${count}`)!.alternative = true
    })
  }

  #readContent(side: Side, place: string, content: unknown, within: string): void {
    for (const [type, media] of Object.entries(members(content))) {
      const key = `${side} ${place} ${type}`
      this.facts.set(key, { within, required: false, bounds: {} })
      this.#readSchema(side, `${place} ${type} body`, members(media)['schema'], key)
    }
  }

  #readOperation(place: string, item: Members, operation: Members): void {
    const key = `request ${place}`
    this.facts.set(key, { required: false, bounds: {} })
    for (const value of [...list(item['parameters']), ...list(operation['parameters'])]) {
      const parameter = this.#target(value)
      this.#readSchema(
        'request',
        `${place} ${String(parameter['in'])} ${nameOf(parameter)}`,
        parameter['schema'],
        key,
        parameter['required'] === true,
      )
    }
    const body = this.#target(operation['requestBody'])
    this.#readContent('request', place, body['content'], key)
    for (const [status, value] of Object.entries(members(operation['responses']))) {
      const answer = `answer ${place} ${status}`
      this.facts.set(answer, { within: key, required: false, bounds: {} })
      const response = this.#target(value)
      this.#readContent('answer', `${place} ${status}`, response['content'], answer)
      for (const [name, one] of Object.entries(members(response['headers']))) {
        const { schema, required } = this.#target(one)
        const header = `${place} ${status} header ${name.toLowerCase()}`
        this.#readSchema('answer', header, schema, answer, required === true)
      }
    }
  }

  #readPath(path: string, item: Members): void {
    for (const method of methods)
      if (item[method] !== undefined)
        this.#readOperation(`${method.toUpperCase()} ${path}`, item, members(item[method]))
  }
}
