import type { Vendor } from './vendor.ts'

/** What is wrong with keys of a vendor, without the keys: `wrong` is sure, `doubtful` is not. */
type KeyFindings = { wrong: readonly string[]; doubtful: readonly string[] }
type Asked = {
  vendor: Vendor
  /** The variable that holds the keys. */
  variable: string
  keys: readonly string[]
  /** Whether they go to the vendor's own address; another one may take anything. */
  isOwnAddress: boolean
}

/** Looks at keys before they are used, by what the vendors' keys begin with. */
export function checkKeys(asked: Asked, vendors: readonly Vendor[]): KeyFindings {
  const { vendor, variable, keys, isOwnAddress } = asked
  const wrong: string[] = []
  const doubtful: string[] = []
  for (const key of keys) {
    const reason = reasonAgainst(key, isOwnAddress)
    const other = isOwnAddress ? ownerOf(key, vendors) : undefined
    if (reason !== undefined) wrong.push(`${variable}: ${reason}`)
    else if (other !== undefined && !other.includes(vendor)) {
      const names = other.map(({ name }) => name).join(' or ')
      wrong.push(`${variable} holds a key of ${names}. Set it to a key of ${vendor.name}.`)
    } else if (isOwnAddress && !isUsual(key, vendor)) {
      const begins = `keys of ${vendor.name} usually begin with ${vendor.keyPrefixes!.join(' or ')}`
      doubtful.push(`${variable}: ${begins}. Check it, should ${vendor.name} refuse it.`)
    }
  }
  return { wrong, doubtful }
}

const lengthMin = 8
const placeholders =
  /^(?:your|my|the|insert|replace|change|paste|put|add|enter|some|dummy|fake|test|todo|none|null|undefined|example)(?:$|[-_ ])|^[<[{$%]|^x+$|api[-_ ]?key|secret[-_ ]?key|\*\*\*|\.\.\.|\u2026/i

function reasonAgainst(key: string, isOwnAddress: boolean): string | undefined {
  if (/^["'`\u2018-\u201d]|["'`\u2018-\u201d]$/.test(key)) {
    return 'the key stands in quotes. Remove them.'
  }
  if (/[^\x21-\x7e]/.test(key) && !key.includes('\u2026')) {
    return 'the key has a blank, a line break or another character inside that no key has. Copy it again.'
  }
  if (!isOwnAddress) return undefined
  if (placeholders.test(key)) {
    return 'this is a placeholder, not a key. Put the key there, or unset the variable.'
  }
  if (key.length < lengthMin) return 'this is too short for a key. Copy it again.'
  return undefined
}

/** The vendors whose keys begin so: those with the longest beginning that fits. */
function ownerOf(key: string, vendors: readonly Vendor[]): readonly Vendor[] | undefined {
  const longest = (vendor: Vendor) =>
    Math.max(0, ...(vendor.keyPrefixes ?? []).map((one) => (key.startsWith(one) ? one.length : 0)))
  const most = Math.max(0, ...vendors.map(longest))
  // What fits several vendors says little.
  return most === 0 ? undefined : vendors.filter((vendor) => longest(vendor) === most)
}

function isUsual(key: string, { keyPrefixes }: Vendor): boolean {
  return keyPrefixes === undefined || keyPrefixes.some((prefix) => key.startsWith(prefix))
}
