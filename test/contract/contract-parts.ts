/** What a small contract has. */
export type Parts = {
  headers?: object
  webhooks?: object
  body?: object
  answer?: object
  parameter?: object
  paths?: object
  version?: string
}

/** A contract of one operation, whose schemas stand in the components. */
export const contract = ({
  body,
  answer,
  parameter,
  paths,
  version = '1.2.3',
  ...more
}: Parts = {}) => ({
  info: { version },
  webhooks: more.webhooks,
  paths: {
    '/a': {
      post: {
        parameters: [{ in: 'query', name: 'n', schema: { type: 'integer' }, ...parameter }],
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } },
        },
        responses: {
          200: {
            headers: more.headers,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/B' } } },
          },
        },
      },
    },
    ...paths,
  },
  components: {
    schemas: { A: { type: 'object', ...body }, B: { type: 'object', ...answer } },
  },
})

export const member = (schema: object, required: string[] = []) => ({
  properties: { m: schema },
  required,
})
export const open = (...values: string[]) => ({
  anyOf: [{ type: 'string', enum: values }, { type: 'string' }],
})
export const text = { type: 'string' }
export const words = (...values: string[]) => ({ type: 'string', enum: values })

export const tagged = (tag: string, value: object) => ({
  type: 'object',
  properties: { tag: words(tag), value },
})

export const webhook = (properties: object) => ({
  post: {
    requestBody: { content: { 'application/json': { schema: { type: 'object', properties } } } },
  },
})
