type Parts = {
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
const open = (...values: string[]) => ({
  anyOf: [{ type: 'string', enum: values }, { type: 'string' }],
})
export const text = { type: 'string' }
export const words = (...values: string[]) => ({ type: 'string', enum: values })

const webhook = (properties: object) => ({
  post: {
    requestBody: { content: { 'application/json': { schema: { type: 'object', properties } } } },
  },
})

/** Two contracts, the breaking changes between them, and the others. */
export const pairs: [string, Parts, Parts, string[], string[]][] = [
  [
    'a new operation',
    {},
    { paths: { '/b': { get: { responses: {} } } } },
    [],
    ['GET /b (request): new'],
  ],
  [
    'a removed operation',
    { paths: { '/b': { get: { responses: {} } } } },
    {},
    ['GET /b (request): removed'],
    [],
  ],
  ['a new required request member', {}, { body: member(text, ['m']) }, ['A.m (request): new'], []],
  ['a new optional request member', {}, { body: member(text) }, [], ['A.m (request): new']],
  ['a new answer member', {}, { answer: member(text, ['m']) }, [], ['B.m (answer): new']],
  ['a removed answer member', { answer: member(text) }, {}, ['B.m (answer): removed'], []],
  [
    'a request member that is required',
    { body: member(text) },
    { body: member(text, ['m']) },
    ['A.m (request): is required'],
    [],
  ],
  [
    'an answer member that is optional',
    { answer: member(text, ['m']) },
    { answer: member(text) },
    ['B.m (answer): is optional'],
    [],
  ],
  [
    'a narrowed bound',
    { body: member({ maximum: 9 }) },
    { body: member({ maximum: 5 }) },
    ['A.m (request): maximum 9 → 5'],
    [],
  ],
  [
    'a widened bound',
    { body: member({ minimum: 9 }) },
    { body: member({ minimum: 5 }) },
    [],
    ['A.m (request): minimum 9 → 5'],
  ],
  [
    'a changed type',
    { answer: member(text) },
    { answer: member({ type: 'number' }) },
    ['B.m (answer): type string → number'],
    [],
  ],
  [
    'an answer that may be null',
    { answer: member(text) },
    { answer: member({ type: ['string', 'null'] }) },
    ['B.m (answer): type string → string | null'],
    [],
  ],
  [
    'a request of any type',
    { body: member({ type: ['string', 'null'] }) },
    { body: member({}) },
    [],
    ['A.m (request): type string | null → any'],
  ],
  [
    'an answer of any type',
    { answer: member(text) },
    { answer: member({}) },
    ['B.m (answer): type string → any'],
    [],
  ],
  [
    'an answer that is never null',
    { answer: member({ type: ['string', 'null'] }) },
    { answer: member(text) },
    [],
    ['B.m (answer): type string | null → string'],
  ],
  [
    'a removed value of a request',
    { body: member(words('a', 'b')) },
    { body: member(words('a')) },
    ['A.m (request): without value "b"'],
    [],
  ],
  [
    'a new value of a closed answer',
    { answer: member(words('a')) },
    { answer: member(words('a', 'b')) },
    ['B.m (answer): new value "b"'],
    [],
  ],
  [
    'a new value of an open answer',
    { answer: member(open('a')) },
    { answer: member(open('a', 'b')) },
    [],
    ['B.m (answer): new value "b"'],
  ],
  [
    'a closed answer that is open',
    { answer: member(words('a')) },
    { answer: member(open('a')) },
    ['B.m (answer): list of values is open'],
    [],
  ],
  [
    'a width of a number',
    { body: member({ type: 'integer' }) },
    { body: member({ type: 'integer', format: 'int32' }) },
    [],
    ['A.m (request): format none → int32'],
  ],
  [
    'a format of a text',
    { body: member(text) },
    { body: member({ ...text, format: 'date-time' }) },
    ['A.m (request): format none → date-time'],
    [],
  ],
  [
    'alternatives in another order',
    { body: member({ anyOf: [text, { type: 'array', items: text }] }) },
    { body: member({ anyOf: [{ type: 'array', items: text }, text] }) },
    [],
    [],
  ],
  [
    'an alternative that went',
    { body: member({ anyOf: [text, { type: 'array', items: text }] }) },
    { body: member({ anyOf: [{ type: 'array', items: text }] }) },
    ['A.m (request): type string | array → array', 'A.m|string (request): removed'],
    [],
  ],
  [
    'an enumeration that may be null',
    { answer: member(words('a')) },
    { answer: member({ oneOf: [{ type: 'null' }, words('a')] }) },
    ['B.m (answer): type string → string | null'],
    [],
  ],
  [
    'a nullable enumeration in another form',
    { answer: member({ oneOf: [{ type: 'null' }, words('a')] }) },
    { answer: member({ anyOf: [words('a'), { type: 'null' }] }) },
    [],
    [],
  ],
  [
    'an open enumeration that may be null',
    { answer: member(open('a')) },
    { answer: member({ anyOf: [...open('a').anyOf, { type: 'null' }] }) },
    ['B.m (answer): type string → string | null'],
    [],
  ],
  [
    'a request without other members',
    { body: member(text) },
    { body: { ...member(text), additionalProperties: false } },
    ['A (request): has no other members'],
    [],
  ],
  [
    'a new header of an answer',
    {},
    { headers: { 'x-a': { schema: text } } },
    [],
    ['POST /a 200 header x-a (answer): new'],
  ],
  [
    'a removed header of an answer',
    { headers: { 'x-a': { schema: text } } },
    {},
    [],
    ['POST /a 200 header x-a (answer): removed'],
  ],
  [
    'a removed header that each answer had',
    { headers: { 'x-a': { schema: text, required: true } } },
    {},
    ['POST /a 200 header x-a (answer): removed'],
    [],
  ],
  ['a removed webhook', { webhooks: { done: {} } }, {}, ['webhook done (answer): removed'], []],
  [
    'a webhook that lacks a member',
    { webhooks: { done: webhook({ m: text }) } },
    { webhooks: { done: webhook({}) } },
    ['webhook done application/json body.m (answer): removed'],
    [],
  ],
  [
    'a required parameter',
    {},
    { parameter: { required: true } },
    ['POST /a query n (request): is required'],
    [],
  ],
  [
    'a renamed parameter',
    {},
    { parameter: { name: 'k' } },
    ['POST /a query n (request): removed'],
    ['POST /a query k (request): new'],
  ],
]
