import { expect } from 'chai'
import {
  allowsNull,
  alternatives,
  bodySchema,
  complaints,
  contract,
  operation,
  operations,
  ownOperations,
  resolve,
  tools,
  type Schema,
} from '../support/contract.ts'
import {
  bodies,
  chatAnswer,
  errors,
  furtherArguments,
  imageConfigs,
  imagesAnswer,
  limits,
  toolArguments,
  type Field,
  type Row,
} from './document.ts'

describe('the contract against the product document', () => {
  it('has every endpoint', () => {
    const documented = [
      'post /mcp',
      'get /mcp',
      'post /v1/images/generations',
      'post /v1/images/edits',
      'post /v1/chat/completions',
    ]
    expect(operations.map(({ method, path }) => `${method} ${path}`)).to.include.members(documented)
  })

  it('has the OAuth endpoints', () => {
    const documented = ['get /oauth/authorize', 'post /oauth/token', 'post /oauth/register']
    expect(operations.map(({ method, path }) => `${method} ${path}`)).to.include.members(documented)
  })

  for (const [id, rows] of Object.entries(bodies)) {
    describe(`the body of ${id}`, () => {
      const body = bodySchema(operation(id))!
      for (const row of rows) it(`has ${row.name} as documented`, () => expectRow(body, row))

      it('requires no more than the document does', () => expectRequired(body, rows))
    })
  }

  it('accepts no mask', () => {
    const names = Object.values(operation('createImageEdit').requestBody!.content).flatMap(
      ({ schema }) => Object.keys(resolve(schema).properties!),
    )
    expect(names).to.not.include('mask')
  })

  it('accepts an input image as an object with an address or a data URL', () => {
    const { images } = bodySchema(operation('createImageEdit'))!.properties!
    for (const url of ['https://example.com/boat.png', 'data:image/png;base64,iVBORw0KGgo=']) {
      expect(complaints(images!, [{ image_url: url }])).to.deep.equal([])
    }
  })

  it('accepts chat messages with a role and a text', () => {
    const { messages } = bodySchema(operation('createChatCompletion'))!.properties!
    for (const role of ['user', 'assistant']) {
      expect(complaints(messages!, [{ role, content: 'A lighthouse' }])).to.deep.equal([])
    }
  })

  it('accepts a chat message with an image', () => {
    const { messages } = bodySchema(operation('createChatCompletion'))!.properties!
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
    const content = [{ type: 'text', text: 'Make the sky purple' }, image]
    expect(complaints(messages!, [{ role: 'user', content }])).to.deep.equal([])
  })

  for (const [name, rows] of Object.entries(imageConfigs)) {
    describe(`the image_config of ${name}`, () => {
      const schema = contract.components.schemas[name]!
      for (const row of rows) it(`has ${row.name} as documented`, () => expectRow(schema, row))

      it('requires nothing', () => expectRequired(schema, rows))
    })
  }

  it('answers a chat with an image model in the documented shape', () => {
    expectFields(contract.components.schemas['ChatCompletion']!, chatAnswer)
  })

  it('answers with images in the documented shape', () => {
    expectFields(contract.components.schemas['ImagesResponse']!, imagesAnswer)
  })

  for (const { limit, at, accepts, refuses } of limits) {
    it(`limits ${limit}`, () => {
      const schema = property(at)
      for (const value of accepts) expect(complaints(schema, value)).to.deep.equal([])
      for (const value of refuses) expect(complaints(schema, value), String(value)).to.not.be.empty
    })
  }

  it('has every documented error', () => {
    const { ErrorCode, ErrorType } = contract.components.schemas
    const rows = Object.values(errors)
    expect(ErrorCode!.enum).to.include.members(rows.flatMap(({ codes }) => codes))
    expect(ErrorType!.enum).to.have.members([...new Set(rows.map(({ type }) => type))])
  })

  // Its signature replaces the key.
  const signedPath = '/v1/images/files/{file_id}'
  it('lets every operation be called with a bearer token or with x-api-key', () => {
    const { securitySchemes } = contract.components
    expect(securitySchemes['bearer']).to.include({ type: 'http', scheme: 'bearer' })
    expect(securitySchemes['apiKey']).to.include({
      type: 'apiKey',
      in: 'header',
      name: 'x-api-key',
    })
    expect(contract.security).to.deep.equal([{ bearer: ['inference'] }, { apiKey: ['inference'] }])
    const { enum: scopes } = contract.components.schemas['Scope']!
    for (const { path, security } of ownOperations) {
      // Any key with the scope `inference` may call operations outside /api.
      if (!path.startsWith('/api/') && path !== signedPath) expect(security).to.equal(undefined)
      for (const named of security ?? []) {
        // An empty requirement allows requests without credentials.
        if (Object.keys(named).length === 0) continue
        const [[scheme, needed] = ['', []], ...more] = Object.entries(named)
        expect(more).to.deep.equal([])
        expect(securitySchemes).to.have.property(scheme)
        expect(scopes).to.include.members(needed)
      }
    }
  })
})

describe('the tools against the product document', () => {
  it('are the five tools of the document', () => {
    expect(tools.map(({ name }) => name)).to.have.members(Object.keys(toolArguments))
  })

  for (const [name, rows] of Object.entries(toolArguments)) {
    describe(`the arguments of ${name}`, () => {
      const { inputSchema } = tools.find((tool) => tool.name === name)!
      for (const row of rows) it(`has ${row.name} as documented`, () => expectRow(inputSchema, row))

      it('are only the documented ones', () => {
        const further = furtherArguments[name] ?? []
        const names = rows.map((row) => row.name)
        expect(Object.keys(inputSchema.properties!)).to.have.members([...names, ...further])
        expectRequired(inputSchema, rows)
      })
    })
  }

  it('accept messages with a role and a content, which may contain an image', () => {
    const { messages } = tools.find(({ name }) => name === 'chat')!.inputSchema.properties!
    const { items } = messages!
    expect(items!.required).to.have.members(['role', 'content'])
    expect(items!.properties!['role']!.type).to.equal('string')
    const picture = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }
    const address = { type: 'image_url', image_url: { url: 'https://example.com/boat.png' } }
    const text = { type: 'text', text: 'Make the sky purple' }
    for (const content of ['A lighthouse', [text, picture], [address, text]]) {
      expect(complaints(items!, { role: 'user', content }), JSON.stringify(content)).to.be.empty
    }
  })

  it('are called by JSON-RPC 2.0', () => {
    const body = bodySchema(operation('postMcp'))!
    expect(complaints(body, { jsonrpc: '2.0', id: 1, method: 'tools/list' })).to.deep.equal([])
    expect(complaints(body, { jsonrpc: '1.0', id: 1, method: 'tools/list' })).to.not.deep.equal([])
  })

  it('support protocol version 2024-11-05', () => {
    const server = contract.components.schemas['ToolServer']!
    expect(server.properties!['protocolVersion']!.enum).to.deep.equal(['2024-11-05'])
  })

  it('stream events to a GET', () => {
    const answer = resolve(operation('getMcp').responses['200']!)
    expect(Object.keys(answer.content!)).to.include.members([
      'application/json',
      'text/event-stream',
    ])
  })
})

/** A parameter of an operation, a tool or a component. */
function property([owner = '', name = '']: string[]): Schema {
  const tool = tools.find((one) => one.name === owner)?.inputSchema
  const schema = tool ?? contract.components.schemas[owner] ?? bodySchema(operation(owner))!
  return schema.properties![name]!
}

function expectRow(owner: Schema, row: Row): void {
  const schema = owner.properties?.[row.name]
  expect(schema, row.name).to.not.equal(undefined)
  const found = resolve(schema!)
  const branches = alternatives(found)
  expect([...new Set(branches.map(({ type }) => type))]).to.deep.equal([row.type])
  expect(found.default).to.equal(row.default)
  if (row.values !== undefined) {
    expect(branches.flatMap((branch) => branch.enum)).to.have.members(row.values)
  }
  const bound = (name: 'minimum' | 'maximum') => branches.map((branch) => branch[name])
  if (row.minimum !== undefined) expect(bound('minimum')).to.deep.equal([row.minimum])
  if (row.maximum !== undefined) expect(bound('maximum')).to.deep.equal([row.maximum])
  for (const value of [...(row.accepts ?? []), ...(row.values ?? [])]) {
    expect(complaints(found, value), JSON.stringify(value)).to.deep.equal([])
  }
}

function expectRequired(owner: Schema, rows: Row[]): void {
  const required = rows.filter((row) => row.required).map(({ name }) => name)
  expect(owner.required ?? []).to.have.members(required)
}

function expectFields(schema: Schema, fields: Field[]): void {
  for (const { path, type, always, constant } of fields) {
    const { owner, name } = walk(schema, path)
    const found = resolve(owner.properties?.[name] ?? {})
    expect(alternatives(found)[0]?.type, path).to.equal(type)
    expect(found.enum, path).to.deep.equal(constant === undefined ? undefined : [constant])
    expect((owner.required ?? []).includes(name), path).to.equal(always)
    // Integers must not be null, because clients calculate with them.
    if (type === 'integer') expect(allowsNull(found), path).to.equal(false)
  }
}

/** The schema of the object that has the last member of a path such as `data[].b64_json`. */
function walk(schema: Schema, path: string): { owner: Schema; name: string } {
  const steps = path.split('.')
  const name = steps.pop()!
  const owner = steps.reduce((part, step) => {
    const inner = resolve(resolve(part).properties?.[step.replace('[]', '')] ?? {})
    return step.endsWith('[]') ? resolve(inner.items ?? {}) : inner
  }, schema)
  return { owner: resolve(owner), name }
}
