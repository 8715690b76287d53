import { protocolVendor } from '../openai-compatible/vendor.ts'

/** Moonshot (docs/vendors.md#openai-compatible-endpoints). */
export const moonshot = protocolVendor({
  id: 'moonshot',
  name: 'Moonshot',
  anyModel: true,
  baseUrl: 'https://api.moonshot.ai/v1',
  dialect: { takesBack: ['reasoning_content'], wantsReasoning: true, noDeveloper: true },
})
