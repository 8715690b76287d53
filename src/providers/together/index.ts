import { protocolVendor } from '../openai-compatible/vendor.ts'

/** Together, with any model that it hosts (docs/vendors.md#openai-compatible-endpoints). */
export const together = protocolVendor({
  id: 'together',
  name: 'Together',
  anyModel: true,
  baseUrl: 'https://api.together.xyz/v1',
  dialect: { takesBack: [], noDeveloper: true },
})
