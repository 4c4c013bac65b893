// The RuntimeClass of a cluster's own choice, in the place of an OCI runtime's name.

export const CLUSTER_DEFAULT = 'default';
