import { expect } from 'chai'
import { ProviderFailure, type FailureKind } from '../../src/core/failure.ts'
import type { Route } from '../../src/core/route.ts'
import { createRouteHealth, createRouteOrder } from '../../src/policy/route-order.ts'
import { routeOf } from '../support/route.ts'

const limits = { circuitFailuresMax: 3 }

function startHealth() {
  let now = 0
  const health = createRouteHealth({ limits: () => limits, monotonic: () => now })
  const fails = (route: Route, kind: FailureKind, retryAfterSeconds?: number) => {
    health.began(route)
    health.ended(route, new ProviderFailure(kind, 'No.', { retryAfterSeconds }))
  }
  const answers = (route: Route) => {
    health.began(route)
    health.ended(route)
  }
  const pass = (ms: number) => (now += ms)
  return { ...health, fails, answers, pass }
}

describe('the health of a route', () => {
  const route = routeOf('one')

  it('is lost after consecutive failures', () => {
    const { fails, isOpen, answers } = startHealth()
    fails(route, 'overloaded')
    fails(route, 'unreachable')
    answers(route)
    fails(route, 'timeout')
    fails(route, 'malformed')
    expect(isOpen(route)).to.equal(false)
    fails(route, 'overloaded')
    expect(isOpen(route)).to.equal(true)
    expect(isOpen(routeOf('two'))).to.equal(false)
  })

  it("is not lost by callers' errors", () => {
    const { fails, isOpen } = startHealth()
    for (let count = 0; count < 9; count++) {
      for (const kind of ['rejected', 'too_large', 'content_policy', 'cancelled'] as const) {
        fails(route, kind)
      }
    }
    expect(isOpen(route)).to.equal(false)
  })

  it('is lost at once when the vendor refuses our key or rate, for the time that it asks', () => {
    const { fails, isOpen, pass } = startHealth()
    fails(route, 'rate_limited', 9)
    pass(8999)
    expect(isOpen(route)).to.equal(true)
    pass(1)
    expect(isOpen(route)).to.equal(false)
  })

  it('is probed by one call at a time', () => {
    const { fails, isOpen, pass, began, ended } = startHealth()
    fails(route, 'credentials')
    pass(5000)
    expect(isOpen(route)).to.equal(false)
    began(route)
    expect(isOpen(route)).to.equal(true)
    ended(route)
    expect(isOpen(route)).to.equal(false)
  })

  it('is probed by the next call when the caller of the probe disconnects', () => {
    const { fails, isOpen, pass } = startHealth()
    fails(route, 'credentials')
    pass(5000)
    fails(route, 'cancelled')
    expect(isOpen(route)).to.equal(false)
  })

  it('is lost for twice as long after a failed probe, within a limit', () => {
    const { fails, isOpen, pass } = startHealth()
    fails(route, 'credentials')
    for (const restMs of [10_000, 20_000, 40_000, 60_000, 60_000]) {
      pass(60_000)
      fails(route, 'overloaded')
      pass(restMs - 1)
      expect(isOpen(route)).to.equal(true)
      pass(1)
      expect(isOpen(route)).to.equal(false)
    }
  })

  it('is never lost by the sandbox', () => {
    const { fails, isOpen } = startHealth()
    const sandbox = routeOf('sandbox', { simulated: true })
    for (let count = 0; count < 9; count++) fails(sandbox, 'credentials')
    expect(isOpen(sandbox)).to.equal(false)
  })
})

describe('the order of routes', () => {
  const one = routeOf('one')
  const two = { ...routeOf('two'), model: one.model }
  const other = routeOf('three', { model: 'gpt-4o' })
  const prices = new Map([
    [one, 9n],
    [two, 3n],
    [other, 1n],
  ])
  const order = (by: 'listed' | 'price', broken: Route[], routes: Route[]) =>
    createRouteOrder({
      by,
      isOpen: (route) => broken.includes(route),
      priceOf: (route) => prices.get(route),
    })(routes).map(({ provider }) => provider.id)

  it('is the listed order', () => {
    expect(order('listed', [], [one, two, other])).to.deep.equal(['one', 'two', 'three'])
  })

  it('has unhealthy routes at the end', () => {
    expect(order('listed', [one], [one, two, other])).to.deep.equal(['two', 'three', 'one'])
    expect(order('listed', [one, two, other], [one, two, other])).to.deep.equal([
      'one',
      'two',
      'three',
    ])
  })

  it('has the cheapest of each model first, and the models in the order of the caller', () => {
    expect(order('price', [], [one, two, other])).to.deep.equal(['two', 'one', 'three'])
    expect(order('price', [two], [one, two, other])).to.deep.equal(['one', 'three', 'two'])
  })

  it('has routes without a price at the end of their model', () => {
    const unknown = { ...routeOf('four'), model: one.model }
    expect(order('price', [], [unknown, one, two])).to.deep.equal(['two', 'one', 'four'])
  })
})
