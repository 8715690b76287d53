import { expect } from 'chai'
import fc from 'fast-check'
import { GatewayError } from '../../../src/core/error.ts'
import { cacheKey } from '../../../src/core/repeats/cache-key.ts'
import { callerOf } from '../../support/callers.ts'

const caller = callerOf()
const call = { caller, strict: false, fallback: true, settingsDigest: '' }
const request = {
  model: 'm',
  messages: [{ role: 'user', content: 'a' }],
  options: { n: 1, seed: null },
}

/** The same value with the members of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, inner]) => [name, reversed(inner)] as const)
  return Object.fromEntries(members.toReversed())
}

describe('the key of a cached answer', () => {
  it('does not depend on the order of the members of a request', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (members) => {
        expect(cacheKey(call, 'chat', reversed(members))).to.equal(cacheKey(call, 'chat', members))
      }),
    )
  })

  it('differs for any difference of the request', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const same = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
        const [key, otherKey] = [cacheKey(call, 'chat', one), cacheKey(call, 'chat', other)]
        expect(key === otherKey).to.equal(same)
      }),
    )
  })

  const others: { name: string; key: string }[] = [
    {
      name: 'account',
      key: cacheKey({ ...call, caller: { ...caller, accountId: 'acc_2' } }, 'chat', request),
    },
    {
      name: 'mode',
      key: cacheKey({ ...call, caller: { ...caller, mode: 'test' } }, 'chat', request),
    },
    { name: 'modality', key: cacheKey(call, 'image', request) },
    { name: 'strictness', key: cacheKey({ ...call, strict: true }, 'chat', request) },
    { name: 'use of fallbacks', key: cacheKey({ ...call, fallback: false }, 'chat', request) },
    {
      name: 'configuration of the models',
      key: cacheKey({ ...call, settingsDigest: 'x' }, 'chat', request),
    },
    { name: 'order of messages', key: cacheKey(call, 'chat', [request, 1]) },
  ]
  for (const { name, key } of others) {
    it(`differs for another ${name}`, () => {
      expect(key).to.not.equal(cacheKey(call, 'chat', request))
    })
  }

  it('is the same for all keys of an account', () => {
    const other = { ...call, caller: { ...caller, keyId: 'key_2', models: ['m'] } }
    expect(cacheKey(other, 'chat', request)).to.equal(cacheKey(call, 'chat', request))
  })

  it('cannot be forged by an account or a request that looks like another', () => {
    const forged = cacheKey(
      { ...call, caller: { ...caller, accountId: 'acc_1\nlive' } },
      'chat',
      request,
    )
    expect(forged).to.not.equal(cacheKey(call, 'chat', request))
    expect(cacheKey(call, 'chat', JSON.stringify(request))).to.not.equal(
      cacheKey(call, 'chat', request),
    )
  })

  it('refuses a request that is nested thousands of levels deep as an error of its caller', () => {
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level++) deep = [deep]
    expect(() => cacheKey(call, 'chat', deep))
      .to.throw(GatewayError)
      .with.property('status', 400)
  })
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const names = Object.keys(value).sort()
  return { members: names.map((name) => [name, sorted((value as Record<string, unknown>)[name])]) }
}
