import { expect } from 'chai'
import type { Answer } from '../support/answers.ts'
import {
  operation,
  operations,
  resolve,
  type Link,
  type OperationRow,
  type Parameter,
  type ResponseObject,
} from '../support/contract.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hasBody, prepare, type Prepared } from './prepared.ts'
import { ask, pathOf } from './promised.ts'

type Followed = { from: OperationRow; status: string; name: string; link: Link }

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
}
const inBackground = { headers: { prefer: 'respond-async', 'cache-control': 'no-store' } }
/** How the source of a link is asked, where a plain request has another answer, and other requests before it. */
const sources: Readonly<Record<string, { change?: object; headers?: Record<string, string> }>> = {
  'createImage 202': inBackground,
  'createImageEdit 202': inBackground,
  'createResponse cancel': { change: { background: true } },
  'postMcp endSession': { change: initialize },
}
/** An operation that makes what a list must have. */
const before: Readonly<Record<string, string>> = {
  listImageJobs: 'retrieveImageJob',
  listKeys: 'createKey',
  listWebhooks: 'createWebhook',
  listCassettes: 'importCassette',
  listInvitations: 'inviteMember',
  listRequests: 'createChatCompletion',
  listMembers: 'updateMember',
}
/** An operation whose person has what the list must have. */
const personOf: Readonly<Record<string, string>> = {
  listConnections: 'endConnection',
  listSessions: 'deleteSession',
  listPasskeys: 'deletePasskey',
}

const links: Followed[] = operations.flatMap((from) =>
  Object.entries(from.responses).flatMap(([status, response]) =>
    Object.entries(resolve<ResponseObject>(response).links ?? {}).map(([name, link]) => ({
      from,
      status,
      name,
      link,
    })),
  ),
)

describe('the links of the contract', () => {
  let gateway: TestGateway
  beforeEach(async () => {
    gateway = await startGateway()
  })
  afterEach(() => gateway.stop())

  for (const { from, status, name, link } of links) {
    const { operationId: id } = from
    it(`lead from ${id} ${status} to ${link.operationId} by '${name}'`, async () => {
      const target = operation(link.operationId)
      if (id in before) await asked(operation(before[id]!))
      const source = sources[`${id} ${status}`] ?? sources[`${id} ${name}`] ?? {}
      const own = hasBody(target) ? await prepare(gateway, target) : {}
      const prepared = await prepare(gateway, operation(personOf[id] ?? id))
      const answer = await asked(from, prepared, source)
      expect(answer.status, answer.text).to.equal(Number(status))
      const values = Object.entries(link.parameters).map(
        ([parameter, expression]) => [parameter, valueOf(expression, answer, prepared)] as const,
      )
      const followed = await asked(target, requestOf(target, own, values, prepared))
      expect(followed.status, followed.text).to.be.within(200, 204)
      // The target answers about the object that the source named.
      const [[, value] = ['', '']] = values.slice(-1)
      if (target.operationId.startsWith('retrieve')) expect(followed.text).to.include(value)
    })
  }

  it('name parameters that their operations have', () => {
    for (const { from, name, link } of links) {
      const { parameters = [] } = operation(link.operationId)
      const names = parameters.map((one) => resolve<Parameter>(one).name)
      expect(names, `${from.operationId} ${name}`).to.include.members(Object.keys(link.parameters))
      const required = parameters
        .map((one) => resolve<Parameter>(one))
        .filter((one) => one.required)
      expect(Object.keys(link.parameters)).to.include.members(required.map((one) => one.name))
    }
  })

  it('lead to each operation of an object from one that makes the object', () => {
    const linked = new Set(links.map(({ link }) => link.operationId))
    const ofObjects = operations.filter(
      ({ path, tags: [tag] = [] }) => path.includes('{') && tag !== 'OAuth',
    )
    const rest = ofObjects.map(({ operationId }) => operationId).filter((id) => !linked.has(id))
    expect(rest).to.deep.equal(withoutLinks)
  })

  async function asked(
    row: OperationRow,
    prepared?: Prepared,
    { change, headers }: { change?: object; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    // One account has all objects; a person has the cookie of the session.
    const key = prepared?.headers?.['cookie'] === undefined ? gateway.adminKey : null
    const made = prepared ?? (await prepare(gateway, row))
    return ask(gateway, row, change, { prepared: made, key, ...(headers && { headers }) })
  }
})

/**
 * Operations that no other leads to: the object has a signed address, is an account of the person, is created under a
 * name, or is a vendor.
 */
const withoutLinks = [
  'retrieveImageFile',
  'leaveAccount',
  'importCassette',
  'createProviderKey',
  'testProviderKey',
]

/** The value of a runtime expression (OpenAPI 3.1, section 4.8.20.4). */
function valueOf(expression: string, { text, headers }: Answer, { path }: Prepared): string {
  const [, place = '', name = ''] =
    /^\$(response\.header\.|response\.body#|request\.path\.)(.+)$/.exec(expression) ?? ['']
  const found: unknown =
    place === 'response.header.'
      ? headers.get(name)
      : place === 'request.path.'
        ? path?.[name]
        : name
            .split('/')
            .slice(1)
            .reduce<unknown>((part, step) => Object(part)[step] as unknown, JSON.parse(text))
  expect(found, `${expression} of ${text}`).to.be.a('string').that.is.not.empty
  return String(found)
}

/** The request of a target: its own body, with the values of the link and the credentials of the source. */
function requestOf(
  target: OperationRow,
  { body }: Prepared,
  values: (readonly [string, string])[],
  { headers: credentials }: Prepared,
): Prepared {
  const isInPath = ([name]: readonly [string, string]) => target.path.includes(`{${name}}`)
  const path = Object.fromEntries(values.filter(isInPath))
  expect(pathOf(target, path)).not.to.include('no_such_')
  const headers = { ...credentials, ...Object.fromEntries(values.filter((one) => !isInPath(one))) }
  return { ...(body && { body }), path, headers }
}
