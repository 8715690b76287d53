import { vendors } from './index.ts'

/**
 * Errors in the ids of the operator's endpoints. An endpoint with a vendor's id would use parts of
 * the vendor's adapters, and ids must be unique.
 */
export function complaintsAboutIds(providers: readonly { id: string }[]): string[] {
  const ids = providers.map(({ id }) => id)
  return ids.flatMap((id, place) => {
    const vendor = vendors.find((one) => one.id === id)
    if (vendor !== undefined) {
      const [key] = vendor.keyVariables
      return `providers: '${id}' is the id of ${vendor.name}. Set ${key} and ${vendor.baseUrlVariable}, or choose another id.`
    }
    if (/^sandbox(-\d+)?$/.test(id))
      return `providers: '${id}' is reserved for test keys. Choose another id.`
    return ids.indexOf(id) === place
      ? []
      : `providers: the id '${id}' is used twice. Choose another id.`
  })
}
