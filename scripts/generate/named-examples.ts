import { nameIn, type Document, type Schema } from './document.ts'

/** The name of an example that has none in openapi.yaml. */
export const exampleName = 'usual'

/**
 * A copy of the document in which the one example of a request has the same name as that of its answer, by which mocks
 * pair them (Microcks, Specmatic): in the body, in path parameters, and in answers below 300. Operations without
 * either keep an example without a name, since there is nothing to pair it with.
 */
export function namedExamples<T extends Document>(document: T): T {
  const copy = structuredClone(document)
  const { parameters, requestBodies, responses: shared } = copy.components
  for (const operation of Object.values(copy.paths).flatMap((item) => Object.values(item))) {
    const { requestBody: body, responses } = operation
    const request = body !== undefined && '$ref' in body ? requestBodies[nameIn(body.$ref)] : body
    const places = (operation.parameters ?? [])
      .map((one) => (one.$ref === undefined ? one : parameters[nameIn(one.$ref)]!))
      .filter((one) => one.in === 'path')
    const asked = [...Object.values(request?.content ?? {}), ...places] as Schema[]
    if (!asked.some((one) => 'example' in one || exampleName in Object(one['examples']))) continue
    const answers = Object.entries(responses)
      .filter(([status]) => status < '300')
      .map(([, one]) => ('$ref' in one ? shared[nameIn(one.$ref)]! : one))
      .flatMap(({ content = {} }) => Object.values(content) as Schema[])
    for (const one of [...asked, ...answers]) {
      const { example } = one
      if (example === undefined) continue
      delete one['example']
      one['examples'] = { [exampleName]: { value: example } }
    }
  }
  return copy
}
