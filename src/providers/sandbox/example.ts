type JsonSchema = Record<string, unknown>

const depthMax = 12

/** A value that a JSON Schema allows: the simplest one, always the same. */
export function exampleOf(schema: unknown, depth = 0): unknown {
  if (typeof schema !== 'object' || schema === null || depth > depthMax) return null
  const rule = schema as JsonSchema
  if ('const' in rule) return rule['const']
  if ('default' in rule) return rule['default']
  if (Array.isArray(rule['enum'])) return rule['enum'][0]
  for (const choice of ['anyOf', 'oneOf', 'allOf']) {
    const branches = rule[choice]
    if (Array.isArray(branches)) return exampleOf(branches[0], depth + 1)
  }
  return exampleOfType(rule, depth)
}

function exampleOfType(rule: JsonSchema, depth: number): unknown {
  const { type, properties, items, minimum, minItems } = rule
  switch (Array.isArray(type) ? type[0] : type) {
    case 'string':
      return 'sandbox'
    case 'integer':
    case 'number':
      return typeof minimum === 'number' ? minimum : 1
    case 'boolean':
      return true
    case 'array': {
      const count = typeof minItems === 'number' ? Math.min(minItems, 16) : 1
      return Array.from({ length: count }, () => exampleOf(items, depth + 1))
    }
    case 'null':
      return null
    default:
      return Object.fromEntries(
        Object.entries((properties ?? {}) as JsonSchema).map(([name, rule]) => [
          name,
          exampleOf(rule, depth + 1),
        ]),
      )
  }
}
