import { vendors } from './index.ts'

/**
 * What is wrong with the ids of an operator's own endpoints. One with the id of a vendor would have the
 * vendor's adapters in part, and two of one id would be one.
 */
export function complaintsAboutIds(ids: readonly string[]): string[] {
  return ids.flatMap((id, place) => {
    const vendor = vendors.find((one) => one.id === id)
    if (vendor !== undefined) {
      const [key] = vendor.keyVariables
      return `providers: '${id}' is the id of ${vendor.name}. Set ${key} and ${vendor.baseUrlVariable}, or choose another id.`
    }
    if (/^sandbox(-\d+)?$/.test(id)) return `providers: '${id}' is of test keys. Choose another id.`
    return ids.indexOf(id) === place ? [] : `providers: there are two of the id '${id}'.`
  })
}
