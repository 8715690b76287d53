import { faultOfAccount } from './transport/account-tokens.ts'
import type { Vendor } from './vendor.ts'

/** Errors and doubts about the keys of a vendor, one sentence each, without the keys. */
type KeyFindings = { wrong: readonly string[]; doubtful: readonly string[] }
type VendorKeys = {
  vendor: Vendor
  variable: string
  keys: readonly string[]
  /** Whether the keys are sent to the vendor's own address; another address may accept any key. */
  isOwnAddress: boolean
}

/** Compares keys with the known prefixes of the vendors' keys, before the keys are used. */
export function checkKeys(vendorKeys: VendorKeys, vendors: readonly Vendor[]): KeyFindings {
  const { vendor, variable, keys, isOwnAddress } = vendorKeys
  if (vendor.tokenScope !== undefined) return accountFindings(vendorKeys)
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
      doubtful.push(`${variable}: ${begins}. Check it if ${vendor.name} rejects it.`)
    }
  }
  return { wrong, doubtful }
}

/** Findings about keys that are the JSON of a service account. */
function accountFindings({ variable, keys }: VendorKeys): KeyFindings {
  const faults = keys.flatMap((key) => faultOfAccount(key) ?? [])
  return { wrong: faults.map((fault) => `${variable}: ${fault}`), doubtful: [] }
}

const lengthMin = 8
const placeholders =
  /^(?:your|my|the|insert|replace|change|paste|put|add|enter|some|dummy|fake|test|todo|none|null|undefined|example)(?:$|[-_ ])|^[<[{$%]|^x+$|api[-_ ]?key|secret[-_ ]?key|\*\*\*|\.\.\.|\u2026/i

function reasonAgainst(key: string, isOwnAddress: boolean): string | undefined {
  if (/^["'`\u2018-\u201d]|["'`\u2018-\u201d]$/.test(key)) {
    return 'the key is in quotes. Remove them.'
  }
  if (/[^\x21-\x7e]/.test(key) && !key.includes('\u2026')) {
    return 'the key contains a blank, a line break or another invalid character. Copy it again.'
  }
  if (!isOwnAddress) return undefined
  if (placeholders.test(key)) {
    return 'this is a placeholder, not a key. Replace it with a key, or remove it.'
  }
  if (key.length < lengthMin) return 'the key is too short. Copy it again.'
  return undefined
}

/** The vendors with the longest key prefix that matches. */
function ownerOf(key: string, vendors: readonly Vendor[]): readonly Vendor[] | undefined {
  const longest = (vendor: Vendor) =>
    Math.max(0, ...(vendor.keyPrefixes ?? []).map((one) => (key.startsWith(one) ? one.length : 0)))
  const most = Math.max(0, ...vendors.map(longest))
  // Several vendors may use the same prefix.
  return most === 0 ? undefined : vendors.filter((vendor) => longest(vendor) === most)
}

function isUsual(key: string, { keyPrefixes }: Vendor): boolean {
  return keyPrefixes === undefined || keyPrefixes.some((prefix) => key.startsWith(prefix))
}
