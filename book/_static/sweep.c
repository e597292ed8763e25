#include <stdint.h>
#include <stdlib.h>

/* The arrays of lda_gibbs.sweep, after the sizes that C cannot ask them for. */
void sweep(int64_t n_documents, int64_t n_topics, int64_t vocab_size,
           const int32_t *words, const int64_t *doc_start,
           int32_t *z, int32_t *n_dk, int32_t *n_vk, int32_t *n_k,
           const double *alpha, const double *eta, const double *uniforms)
{
    double *cumulative = malloc(n_topics * sizeof *cumulative), eta_sum = 0;
    for (int64_t v = 0; v < vocab_size; v++) eta_sum += eta[v];
    for (int64_t d = 0; d < n_documents; d++)
        for (int64_t n = doc_start[d]; n < doc_start[d + 1]; n++) {
            int32_t *n_d = n_dk + d * n_topics, *n_v = n_vk + words[n] * n_topics;
            int32_t k = z[n];
            double total = 0;
            n_d[k]--, n_v[k]--, n_k[k]--;
            for (k = 0; k < n_topics; k++) {
                double fit = (n_v[k] + eta[words[n]]) / (n_k[k] + eta_sum);
                cumulative[k] = total += (n_d[k] + alpha[k]) * fit;
            }
            for (k = 0; k < n_topics - 1 && cumulative[k] <= uniforms[n] * total; k++);
            n_d[k]++, n_v[k]++, n_k[k]++;
            z[n] = k;
        }
    free(cumulative);
}
