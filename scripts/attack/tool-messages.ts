import fc from 'fast-check'
import { tools } from '../../test/support/contract.ts'
import { memberProbes, sample, type Words } from '../../test/support/probes.ts'
import { dictionary } from './dictionary.ts'
import { hostileValue } from './hostile-values.ts'

const words: Words = { model: 'own/house-1', family: 'claude', filename: 'a fox' }

const toolCall = fc.oneof(
  ...tools.map(({ name, inputSchema }) => {
    const base = sample(inputSchema, words) as object
    const given = memberProbes(inputSchema, base, words).map(({ value }) => value)
    return fc.constantFrom(...given).map((value) => ({ name, arguments: value }))
  }),
)
const meta = fc.record(
  { progressToken: fc.oneof(fc.constantFrom<unknown[]>(1, 'a', null), hostileValue) },
  { requiredKeys: [] },
)
const calling = fc
  .tuple(toolCall, fc.option(meta))
  .map(([call, given]) => ({ method: 'tools/call', params: { ...call, _meta: given } }))
const clientInfo = { name: 'attack', version: '1' }
const initialize = fc
  .constantFrom<unknown[]>('2025-06-18', '2024-11-05', '1999-01-01', 7)
  .map((protocolVersion) => ({
    method: 'initialize',
    params: { protocolVersion, capabilities: {}, clientInfo },
  }))
const other = fc
  .tuple(
    fc.constantFrom(...dictionary.toolMethods),
    fc.oneof(
      fc.constantFrom<unknown[]>({}, undefined, { cursor: 'x' }, { level: 'debug' }),
      hostileValue,
    ),
  )
  .map(([method, params]) => ({ method, params }))
const id = fc.oneof(
  fc.nat(),
  fc.constantFrom<unknown[]>('a', '', null, 1.5, {}, 2 ** 60, undefined),
)
const message = fc
  .tuple(fc.oneof({ weight: 4, arbitrary: calling }, initialize, other), id)
  .map(([said, named]) => ({ jsonrpc: '2.0', id: named, ...said }))
const answer = fc.constantFrom<object[]>(
  { jsonrpc: '2.0', id: 1, result: {} },
  { jsonrpc: '2.0', id: null, error: { code: -1, message: 'x' } },
)

/** Messages to the tool server, alone or in a batch. */
export const toolMessage: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: message },
  { weight: 1, arbitrary: fc.array(fc.oneof(message, answer, hostileValue), { maxLength: 5 }) },
  {
    weight: 1,
    arbitrary: fc
      .nat(150)
      .map((count) => Array.from({ length: count }, () => ({ jsonrpc: '2.0', id: 1 }))),
  },
)
