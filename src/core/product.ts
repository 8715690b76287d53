import { contractInfo } from '../../generated/operations.ts'

const { title, version } = contractInfo

/** The gateway's name and version, as protocols report them. */
export const product = { name: 'model-access-gateway', title, version }
/** Headers of each request that the gateway sends: some hosts refuse requests without them. */
export const productHeaders = { 'user-agent': `${product.name}/${version}` }
