import { expect } from 'chai'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { holds, isWithin, networksOf, plainAddress, readNetwork } from '../../src/core/networks.ts'

const v4 = fc.ipV4()
// ipaddr.js wrongly treats `::1.2.3.4` as an IPv4 address (RFC 4291 section 2.5.5.1).
const v6 = fc.ipV6().filter((text) => !/^::\d+\./.test(text))
const cidr = fc.oneof(
  fc.tuple(v4, fc.integer({ min: 0, max: 32 })),
  fc.tuple(v6, fc.integer({ min: 97, max: 128 })),
  fc.tuple(v6, fc.integer({ min: 0, max: 128 })),
)

/** The result of ipaddr.js, with IPv4 addresses mapped to IPv6. */
function contains([network, bits]: [string, number], address: string): boolean {
  const mapped = (text: string) => {
    const parsed = ipaddr.parse(text)
    return parsed instanceof ipaddr.IPv4 ? parsed.toIPv4MappedAddress() : parsed
  }
  const width = ipaddr.parse(network) instanceof ipaddr.IPv4 ? bits + 96 : bits
  return mapped(address).match(mapped(network), width)
}

describe('networks', () => {
  it('contain the addresses that start with their bits, also IPv4 mapped to IPv6', () => {
    fc.assert(
      fc.property(cidr, fc.oneof(v4, v6), fc.boolean(), (network, other, near) => {
        const address = near ? network[0] : other
        const plain = plainAddress(address)!
        const list = networksOf([network.join('/')])
        expect(holds(list, plain)).to.equal(contains(network, address))
      }),
      { numRuns: 500 },
    )
  })

  it('are within networks that contain all of their addresses', () => {
    fc.assert(
      fc.property(cidr, cidr, fc.boolean(), (one, other, alike) => {
        const outer = alike ? ([one[0], Math.min(other[1], 32)] as [string, number]) : other
        const width = ([address, bits]: [string, number]) =>
          address.includes(':') ? bits : bits + 96
        const expected = width(one) >= width(outer) && contains(outer, one[0])
        expect(isWithin(one.join('/'), outer.join('/'))).to.equal(expected)
      }),
      { numRuns: 500 },
    )
  })

  const nonsense = [
    '',
    '/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0/8',
    '010.0.0.1',
    '::/129',
    '1.2.3.4/-1',
    '::1%lo',
    'localhost',
    '10.0.0.0/8 ',
    '::ffff:1.2.3.4/129',
    '1.2.3.4/8/8',
    '*',
  ]
  for (const text of nonsense) {
    it(`cannot be written as '${text}'`, () => expect(readNetwork(text)).to.equal(undefined))
  }
})
